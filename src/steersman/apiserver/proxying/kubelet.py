"""Location of kubelets, and errors of a server without access to them.

A server without kubelet client certificate (in tests) fails with the codes of an upstream server that cannot reach the
node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.errors import StatusError, bad_request, not_found, plain_error, service_unavailable
from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request


#: Default of ``--kubelet-preferred-address-types``.
ADDRESS_TYPES: Final = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
#: Annotation of simulated nodes, whose Pod addresses are reachable only through the kubelet (``CONNECT``).
DIALS_PODS: Final = "nodes.steersman.dev/dials-pods"
#: Default kubelet port.
KUBELET_PORT: Final = 10250
_UNREACHABLE: Final = "this control plane does not connect to nodes and pods"


class Location(msgspec.Struct, frozen=True):
    """Network location of a backend and the requested path."""

    host: str
    port: str
    path: str = ""
    scheme: str = "https"
    #: Present the server's client certificate.
    is_kubelet: bool = False
    #: Proxy that opens the connection; None: connect directly.
    way: Location | None = None

    @property
    def authority(self) -> str:
        """Return host and port as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    @property
    def url(self) -> str:
        """Return the URL."""
        return f"{self.scheme}://{self.authority}{self.path}"


def node_location(
    nodes: ServedResource, name: str, path: str = "", *, address_types: Sequence[str] = ADDRESS_TYPES
) -> Location:
    """Return the location of a node's kubelet, by its first address of the preferred types.

    Raises 404 without the node, 500 without an address.
    """
    entry = nodes.cache.get(nodes.cache.key("", name))
    if entry is None:
        raise not_found("nodes", name)
    status = entry.tree().get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or 0
    host = _preferred_address(status.get("addresses") or (), address_types)
    return Location(host, str(port if port > 0 else KUBELET_PORT), path, is_kubelet=True)


def kubelet_proxy_location(nodes: ServedResource, name: str) -> Location | None:
    """Return the kubelet that proxies to Pods of the node; None if their addresses are reachable.

    Raises 500 without an address.
    """
    entry = nodes.cache.get(nodes.cache.key("", name)) if name else None
    if entry is None or (entry.tree()["metadata"].get("annotations") or {}).get(DIALS_PODS) != "true":
        return None
    return node_location(nodes, name)


def _preferred_address(addresses: Sequence[Tree], types: Sequence[str]) -> str:
    for type_ in types:
        for address in addresses:
            if address.get("type") == type_:
                return str(address.get("address") or "")
    addresses_text = " ".join(f"{{{address.get('type', '')} {address.get('address', '')}}}" for address in addresses)
    raise plain_error(f"no preferred addresses found; known addresses: [{addresses_text}]")


def kubelet_unreachable_error(location: Location) -> StatusError:
    """Return a 500: the kubelet is unreachable."""
    return plain_error(f"Get {quote(location.url)}: {_UNREACHABLE}")


def upgrade_dial_error(location: Location, request: Request) -> StatusError:
    """Return a 400 for a request without upgrade, else a 500: the backend is unreachable."""
    if "upgrade" not in request.header(b"connection").lower() or not request.header(b"upgrade"):
        return bad_request("Upgrade request required")
    return plain_error(f"error dialing backend: {location.authority}: {_UNREACHABLE}")


def backend_unreachable_error(location: Location) -> StatusError:
    """Return a 503: the backend is unreachable."""
    return service_unavailable(f"error trying to reach service: {location.authority}: {_UNREACHABLE}")
