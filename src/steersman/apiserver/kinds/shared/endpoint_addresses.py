"""Validation of Endpoints and of endpoint addresses. Upstream: ``ValidateEndpoints``, ``ValidateEndpointIP``."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import check_ip, parse_ip
from steersman.apiserver.kinds.shared.validation import (
    PROTOCOLS,
    check_all,
    check_supported,
    validate_dns_label,
    validate_dns_subdomain,
    validate_qualified_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_LINK_LOCAL_MULTICAST_4: Final = ip_network("224.0.0.0/24")
_LINK_LOCAL_MULTICAST_6: Final = ip_network("ff02::/16")


def validate_endpoint_ip(text: str, path: Path) -> Iterator[FieldError]:
    """Reject unspecified, loopback and link-local addresses. Text that is not an address is skipped."""
    ip = parse_ip(text)
    if ip is None:
        return
    if ip.is_unspecified:
        yield field.invalid(path, text, f"may not be unspecified ({text})")
    if ip.is_loopback:
        yield field.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if ip.is_link_local:
        yield field.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if ip.is_multicast and ip in (_LINK_LOCAL_MULTICAST_4 if ip.version == 4 else _LINK_LOCAL_MULTICAST_6):
        yield field.invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def validate_subsets(obj: Tree) -> list[FieldError]:
    """Validate the subsets of an Endpoints object."""
    return [
        error
        for position, subset in enumerate(obj.get("subsets") or ())
        for error in _validate_subset(subset, field.Path("subsets").index(position))
    ]


def _validate_subset(subset: Tree, path: Path) -> Iterator[FieldError]:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield field.required(path, "must specify `addresses` or `notReadyAddresses`")
    for name in ("addresses", "notReadyAddresses"):
        for position, address in enumerate(subset.get(name) or ()):
            yield from _validate_address(address, path.child(name).index(position))
    ports = subset.get("ports") or ()
    for position, port in enumerate(ports):
        yield from validate_endpoint_port(port, path.child("ports").index(position), needs_name=len(ports) > 1)


def _validate_address(address: Tree, path: Path) -> Iterator[FieldError]:
    ip = address.get("ip") or ""
    yield from check_all(path.child("ip"), ip, check_ip(ip))
    if hostname := address.get("hostname"):
        yield from validate_dns_label(hostname, path.child("hostname"))
    node = address.get("nodeName")
    if node is not None:
        yield from validate_dns_subdomain(node, path.child("nodeName"))
    if parse_ip(ip) is None:
        yield field.invalid(path.child("ip"), ip, "must be a valid IP address")
    yield from validate_endpoint_ip(ip, path.child("ip"))


def validate_endpoint_port(port: Tree, path: Path, *, needs_name: bool) -> Iterator[FieldError]:
    """Validate a port of a subset. ``needs_name``: the subset has several ports."""
    name, number = port.get("name"), port.get("port", 0)
    if name:
        yield from validate_dns_label(name, path.child("name"))
    elif needs_name:
        yield field.required(path.child("name"))
    yield from check_all(path.child("port"), number, names.check_port_number(number))
    yield from check_supported(port.get("protocol"), PROTOCOLS, path.child("protocol"))
    protocol = port.get("appProtocol")
    if protocol is not None:
        yield from validate_qualified_name(protocol, path.child("appProtocol"))
