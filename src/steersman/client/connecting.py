"""Connect to a cluster with a kubeconfig, or with a pod's service account."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.client.aiohttp_transport import AiohttpTransport
from steersman.client.client import Client
from steersman.client.credentials import Identity, StaticCredentials
from steersman.client.kubeconfig import ClusterAccess, in_cluster, kubeconfig_paths, load_kubeconfig

if TYPE_CHECKING:
    from pathlib import Path


def connect(kubeconfig: Path | str | None = None, *, context: str = "", server: str = "", **options: Any) -> Client:
    """Return a client for the cluster of ``find_access``; no request is sent yet.

    ``options`` are passed to ``Client``. Raises ``ConfigError``.
    """
    access = find_access(kubeconfig, context=context, server=server)
    return Client(AiohttpTransport(access), **{"default_namespace": access.namespace, **options})


def find_access(kubeconfig: Path | str | None = None, *, context: str = "", server: str = "") -> ClusterAccess:
    """Return the address of the cluster and the credentials of the caller.

    Search order of controller-runtime's ``GetConfig``: the given file, ``$KUBECONFIG``, the pod's service account,
    ``~/.kube/config``. ``server`` replaces the address of the file; without a file it is used without credentials
    (upstream: ``clientcmd.BuildConfigFromFlags``). Raises ``ConfigError``.
    """
    if server and kubeconfig is None:
        return ClusterAccess(server=_url(server, "http"), credentials=StaticCredentials(Identity()))
    if server:
        return msgspec.structs.replace(load_kubeconfig(kubeconfig, context=context), server=_url(server, "https"))
    if kubeconfig is None and not context and not os.environ.get("KUBECONFIG"):
        is_pod = bool(os.environ.get("KUBERNETES_SERVICE_HOST") and os.environ.get("KUBERNETES_SERVICE_PORT"))
        if is_pod or not any(path.exists() for path in kubeconfig_paths()):
            return in_cluster()
    return load_kubeconfig(kubeconfig, context=context)


def _url(server: str, scheme: str) -> str:
    """Return the address with a scheme and without a trailing slash."""
    return (server if "://" in server else f"{scheme}://{server}").rstrip("/")
