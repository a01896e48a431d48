"""Registration of the metrics server in a cluster: Service, APIService, and the role of its readers."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from steersman.client import tree
from steersman.client.errors import ClientError, NotFound
from steersman.nodes.metrics.api import GROUP, VERSION

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.client import Client

NAME: Final = "metrics-server"
NAMESPACE: Final = "kube-system"
#: Name in the serving certificate.
HOST: Final = f"{NAME}.{NAMESPACE}.svc"
API_SERVICE: Final = f"{VERSION}.{GROUP}"
API_SERVICES: Final = tree("apiregistration.k8s.io/v1", "APIService")
_SERVICES: Final = tree("v1", "Service")
_CONFIG_MAPS: Final = tree("v1", "ConfigMap")
_LABELS: Final = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/managed-by": "steersman"}
_MANAGER: Final = "steersman-metrics-server"


class OtherServerError(Exception):
    """Another metrics server is registered in the cluster."""


def objects(port: int, ca: bytes) -> list[Tree]:
    """Return the objects that route ``metrics.k8s.io`` to a port of this machine."""
    reader = "system:aggregated-metrics-reader"
    aggregated = {f"rbac.authorization.k8s.io/aggregate-to-{role}": "true" for role in ("view", "edit", "admin")}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": _LABELS},
            # EndpointSlices cannot hold loopback addresses.
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": reader, "labels": {**_LABELS, **aggregated}},
            "rules": [{"apiGroups": [GROUP], "resources": ["nodes", "pods"], "verbs": ["get", "list"]}],
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": API_SERVICE, "labels": _LABELS},
            "spec": {
                "group": GROUP,
                "version": VERSION,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "caBundle": base64.b64encode(ca).decode(),
                "service": {"name": NAME, "namespace": NAMESPACE, "port": port},
            },
        },
    ]


async def register(client: Client, port: int, ca: bytes) -> None:
    """Create or update the objects. Raises ``OtherServerError``, ``ClientError``."""
    try:
        api_service = await client.get(API_SERVICES, API_SERVICE)
    except NotFound:
        pass
    else:
        if not _is_own(api_service):
            raise OtherServerError(f"the APIService {API_SERVICE} belongs to another metrics server")
    for obj in objects(port, ca):
        await client.apply(obj, field_manager=_MANAGER, force=True)


async def unregister(client: Client) -> None:
    """Delete Service and APIService, so that no unavailable group remains. Errors are ignored."""
    with suppress(ClientError):
        if _is_own(await client.get(API_SERVICES, API_SERVICE)):
            await client.delete(API_SERVICES, API_SERVICE)
            await client.delete(_SERVICES, NAME, namespace=NAMESPACE)


def _is_own(api_service: Tree) -> bool:
    labels = api_service["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in _LABELS.items())


async def front_proxy_ca(client: Client) -> bytes:
    """Return the CA of the client certificates of forwarding API servers. Raises ``ClientError``."""
    config = await client.get(_CONFIG_MAPS, "extension-apiserver-authentication", namespace=NAMESPACE)
    text: str = (config.get("data") or {}).get("requestheader-client-ca-file") or ""
    return text.encode()
