"""Where the kubelet of a node is asked, and the refusal of a server that has no way there.

A server without a certificate to show to kubelets (in tests, on the test's own loop) refuses with the same codes as
upstream's server when it cannot reach the node.
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
#: Annotation of nodes whose pods have made-up addresses: nobody but the kubelet of these nodes gets there (``CONNECT``).
DIALS_PODS: Final = "nodes.steersman.dev/dials-pods"
#: Of nodes that do not say.
KUBELET_PORT: Final = 10250
_UNREACHABLE: Final = "this control plane does not connect to nodes and pods"


class Location(msgspec.Struct, frozen=True):
    """What is asked."""

    host: str
    port: str
    path: str = ""
    scheme: str = "https"
    #: It is told who this server is.
    is_kubelet: bool = False
    #: The proxy that makes the connection; None: there is a direct way.
    way: Location | None = None

    @property
    def authority(self) -> str:
        """Host and port as a URL has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host

    @property
    def url(self) -> str:
        """The whole."""
        return f"{self.scheme}://{self.authority}{self.path}"


def node_location(
    nodes: ServedResource, name: str, path: str = "", *, address_types: Sequence[str] = ADDRESS_TYPES
) -> Location:
    """Return where the kubelet of a node is, by its first address of the types. Raises 404 for a node that is not there, 500 for one without an address."""
    entry = nodes.cache.get(nodes.cache.key("", name))
    if entry is None:
        raise not_found("nodes", name)
    status = entry.tree().get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or 0
    host = _preferred(status.get("addresses") or (), address_types)
    return Location(host, str(port if port > 0 else KUBELET_PORT), path, is_kubelet=True)


def way_to_pods(nodes: ServedResource, name: str) -> Location | None:
    """The kubelet that dials the pods of a node; None: their addresses can be reached. Raises 500 for one without an address."""
    entry = nodes.cache.get(nodes.cache.key("", name)) if name else None
    if entry is None or (entry.tree()["metadata"].get("annotations") or {}).get(DIALS_PODS) != "true":
        return None
    return node_location(nodes, name)


def _preferred(addresses: Sequence[Tree], types: Sequence[str]) -> str:
    for wanted in types:
        for address in addresses:
            if address.get("type") == wanted:
                return str(address.get("address") or "")
    known = " ".join(f"{{{address.get('type', '')} {address.get('address', '')}}}" for address in addresses)
    raise plain_error(f"no preferred addresses found; known addresses: [{known}]")


def no_answer(location: Location) -> StatusError:
    """500: the kubelet that was to be asked did not answer."""
    return plain_error(f"Get {quote(location.url)}: {_UNREACHABLE}")


def no_stream(location: Location, request: Request) -> StatusError:
    """400 for a request that is to become a stream and does not say so; 500: nobody at the other end."""
    if "upgrade" not in request.header(b"connection").lower() or not request.header(b"upgrade"):
        return bad_request("Upgrade request required")
    return plain_error(f"error dialing backend: {location.authority}: {_UNREACHABLE}")


def no_proxy(location: Location) -> StatusError:
    """503: what was to be asked through a proxy did not answer."""
    return service_unavailable(f"error trying to reach service: {location.authority}: {_UNREACHABLE}")
