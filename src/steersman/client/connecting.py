"""From a kubeconfig, or a pod's service account, to a client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from steersman.client.aiohttp_transport import AiohttpTransport
from steersman.client.client import Client
from steersman.client.kubeconfig import in_cluster, kubeconfig_paths, load_kubeconfig

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.client.kubeconfig import ClusterAccess


def connect(kubeconfig: Path | str | None = None, *, context: str = "", **options: Any) -> Client:
    """A client, over TCP, for the cluster that is meant; nothing is sent yet.

    Looks where controllers do (controller-runtime's ``GetConfig``): the file that is given, ``$KUBECONFIG``, the pod's
    service account, ``~/.kube/config``. ``options`` are ``Client``'s. Raises ``ConfigError``.
    """
    access = find_access(kubeconfig, context=context)
    return Client(AiohttpTransport(access), **{"default_namespace": access.namespace, **options})


def find_access(kubeconfig: Path | str | None = None, *, context: str = "") -> ClusterAccess:
    """Where the cluster that is meant is, and who the caller is there; looked for as ``connect`` does."""
    if kubeconfig is None and not context and not os.environ.get("KUBECONFIG"):
        is_pod = bool(os.environ.get("KUBERNETES_SERVICE_HOST") and os.environ.get("KUBERNETES_SERVICE_PORT"))
        if is_pod or not any(path.exists() for path in kubeconfig_paths()):
            return in_cluster()
    return load_kubeconfig(kubeconfig, context=context)
