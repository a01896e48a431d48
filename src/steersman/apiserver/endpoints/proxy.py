"""``pods/proxy``, ``services/proxy`` and ``nodes/proxy``: choice of the backend and forwarding."""

from __future__ import annotations

import asyncio
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import quote as quote_url

import msgspec

from steersman.apimachinery.errors import bad_request, not_found, service_unavailable
from steersman.apimachinery.gotext import quote
from steersman.apiserver.endpoints.pod_streams import find_pod
from steersman.apiserver.http import Response
from steersman.apiserver.proxying.forwarding import proxy
from steersman.apiserver.proxying.kubelet import ADDRESS_TYPES, Location, kubelet_proxy_location, node_location

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.endpoints.connecting import Connecter
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request
    from steersman.apiserver.proxying.connections import Connections

    Endpoint = Callable[[Request], Awaitable[Response]]
    Locate = Callable[[Connecter, Request], Awaitable[Location]]

VERBS: Final = ("get", "create", "update", "patch", "delete")
_SCHEMES: Final = ("", "http", "https")


class Destination(msgspec.Struct, frozen=True):
    """Name in the path of a proxy request: ``name``, ``name:port`` or ``scheme:name:port``."""

    name: str
    port: str = ""
    scheme: str = ""


def destination_of(text: str, kind: str) -> Destination:
    """Parse the name in the path of a proxy request. Raises 400."""
    parts = text.split(":")
    scheme = parts[0] if len(parts) == 3 else ""
    name, port = [*parts, ""][:2] if len(parts) < 3 else parts[1:3]
    if len(parts) > 3 or not name or scheme not in _SCHEMES:
        raise bad_request(f"invalid {kind} request {quote(text)}")
    return Destination(name, port, scheme)


def proxy_endpoints(connecting: Connecter, locate: Locate, connections: Connections) -> Mapping[str, Endpoint]:
    """Return the endpoints of a proxy, which accepts all verbs."""
    return dict.fromkeys(VERBS, partial(proxy_request, connecting, locate, connections))


async def proxy_request(connecting: Connecter, locate: Locate, connections: Connections, request: Request) -> Response:
    """Forward a request. Raises the errors of ``locate``, 503 if the backend cannot be reached; 301 for a page without a path."""
    options = await connecting.admit(request)
    location = await locate(connecting, request)
    has_path = bool(options.get("path")) or request.path.endswith("/")
    query = b"?" + request.raw_query if request.raw_query else b""
    if has_path or request.method not in ("GET", "HEAD"):
        path = quote_url("/" + "/".join(request.info.parts)) + ("/" if _ends_open(request) else "")
        target = msgspec.structs.replace(
            location, path=path + query.decode("latin-1"), scheme=location.scheme or "http"
        )
        return await proxy(connections, target, request, as_kubelets_client=location.is_kubelet)
    return Response(301, content_type=b"", headers=[(b"location", quote_url(request.path).encode() + b"/" + query)])


def _ends_open(request: Request) -> bool:
    return bool(request.info.parts) and request.path.endswith("/")


async def locate_pod(nodes: ServedResource, connecting: Connecter, request: Request) -> Location:
    """Return the pod's first address and the port. Raises 400 for an address that only the pod's machine reaches, 404."""
    destination = destination_of(request.info.name, "pod")
    pod = await find_pod(connecting.served, request.info.namespace, destination.name)
    port = destination.port or _first_port(pod)
    addresses = (pod.get("status") or {}).get("podIPs") or [{}]
    address = addresses[0].get("ip") or ""
    if not _is_global(address):
        raise bad_request("address not allowed")
    await nodes.cache.wait_fresh()
    return Location(address, port, scheme=destination.scheme, way=kubelet_proxy_location(nodes, _node_of(pod)))


def _node_of(pod: Tree) -> str:
    return (pod.get("spec") or {}).get("nodeName") or ""


def _first_port(pod: Tree) -> str:
    for container in (pod.get("spec") or {}).get("containers") or ():
        if container.get("ports"):
            return str(container["ports"][0]["containerPort"])
    return ""


def _is_global(text: str) -> bool:
    """Report whether an address is a global unicast address (Go's ``IsGlobalUnicast``)."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    is_broadcast = address.version == 4 and int(address) == 2**32 - 1
    local = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not (local or is_broadcast)


async def locate_node(
    nodes: ServedResource,
    connecting: Connecter,  # noqa: ARG001 — all locators have it
    request: Request,
    *,
    address_types: Sequence[str] = ADDRESS_TYPES,
) -> Location:
    """Return the node's kubelet, or another port of its host. Raises 400 for a port of this machine, 404, 500."""
    destination = destination_of(request.info.name, "node")
    await nodes.cache.wait_fresh()
    kubelet = node_location(nodes, destination.name, address_types=address_types)
    if destination.port in ("", kubelet.port):
        return kubelet
    for address in await _resolved(kubelet.host):
        if not _is_global(address):
            raise bad_request("address not allowed")
    return Location(kubelet.host, destination.port, scheme=destination.scheme)


async def _resolved(host: str) -> list[str]:
    """Return the addresses of a host name or address. Raises 400 for an unknown name."""
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(host, None)
    except (OSError, UnicodeError):  # the latter of names that are none
        raise bad_request(f"lookup {host}: no such host") from None
    return [str(info[4][0]) for info in infos]


async def locate_service(
    pods: ServedResource, nodes: ServedResource, endpoints: ServedResource, connecting: Connecter, request: Request
) -> Location:
    """Return a ready endpoint of the service's port. Raises 400, 404 without Endpoints, 503 if none is ready."""
    info, services = request.info, connecting.served
    destination = destination_of(info.name, "service")
    for served in (services, endpoints, pods, nodes):
        await served.cache.wait_fresh()
    port = destination.port
    if port.isascii() and port.isdigit():
        port = _port_name(services, info.namespace, destination.name, int(port))
    entry = endpoints.cache.get(endpoints.cache.requested_key(info.namespace, destination.name))
    if entry is None:
        raise not_found("services", destination.name)
    target = next(_ready(entry.tree(), port, info.namespace, pods), None)
    if target is None:
        raise service_unavailable(f"no endpoints available for service {quote(info.name)}")
    address, number, pod = target
    return Location(address, str(number), scheme=destination.scheme, way=kubelet_proxy_location(nodes, _node_of(pod)))


def _port_name(services: ServedResource, namespace: str, name: str, number: int) -> str:
    """Return the name of the service's port with that number."""
    entry = services.cache.get(services.cache.requested_key(namespace, name))
    if entry is None:
        raise not_found("services", name)
    for port in (entry.tree().get("spec") or {}).get("ports") or ():
        if port.get("port") == number:
            return port.get("name") or ""
    raise service_unavailable(f"no service port {number} found for service {quote(name)}")


def _ready(endpoints: Tree, port_name: str, namespace: str, pods: ServedResource) -> Iterator[tuple[str, int, Tree]]:
    """Return addresses and ports of ready pods, and the pods: an address without a pod of the namespace is not trusted."""
    for subset in endpoints.get("subsets") or ():
        ports = [port["port"] for port in subset.get("ports") or () if (port.get("name") or "") == port_name]
        for address in subset.get("addresses") or ():
            pod = _pod_of(address, namespace, pods) if ports else None
            if pod is not None:
                yield address["ip"], ports[0], pod


def _pod_of(address: Tree, namespace: str, pods: ServedResource) -> Tree | None:
    target = address.get("targetRef") or {}
    if target.get("namespace") != namespace:
        return None
    entry = pods.cache.get(pods.cache.key(namespace, target.get("name") or ""))
    pod = {} if entry is None else entry.tree()
    ips = (pod.get("status") or {}).get("podIPs") or ()
    return pod if any(ip.get("ip") == address.get("ip") for ip in ips) else None
