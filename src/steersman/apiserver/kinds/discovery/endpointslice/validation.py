"""Validation and warnings of EndpointSlices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import check_canonical_ip, check_ip_loosely, parse_ip
from steersman.apimachinery.metadata_validation import validate_labels
from steersman.apiserver.kinds.shared.address_warnings import ip_warnings
from steersman.apiserver.kinds.shared.endpoint_addresses import validate_endpoint_ip
from steersman.apiserver.kinds.shared.validation import (
    PROTOCOLS,
    check_all,
    check_one_of,
    check_supported,
    check_unchanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_ADDRESS_TYPE: Final = field.Path("addressType")
_ENDPOINTS: Final = field.Path("endpoints")
_PORTS: Final = field.Path("ports")
_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_ENDPOINTS_MAX: Final = 1000
_ADDRESSES_MAX: Final = 100
_TOPOLOGY_MAX: Final = 16
_HINTS_MAX: Final = 8
_PORTS_MAX: Final = 20_000
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_OWN_MANAGERS: Final = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def validate_endpoint_slice(obj: Tree, old: Tree | None = None) -> Iterator[FieldError]:
    """Validate an EndpointSlice. Non-canonical addresses that ``old`` has are accepted."""
    type_ = obj.get("addressType") or ""
    yield from check_supported(type_, _ADDRESS_TYPES, _ADDRESS_TYPE)
    old_addresses = frozenset(_addresses(old)) if old is not None else frozenset()
    yield from _validate_endpoints(obj.get("endpoints") or (), type_, old_addresses)
    yield from _validate_ports(obj.get("ports") or ())


def validate_endpoint_slice_update(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate an update of an EndpointSlice."""
    yield from validate_endpoint_slice(obj, old)
    yield from check_unchanged(obj.get("addressType"), old.get("addressType"), _ADDRESS_TYPE)


def endpoint_slice_warnings(obj: Tree, old: Tree | None) -> Iterator[str]:
    """Yield warnings about deprecated forms. Slices of Kubernetes' own controllers are skipped."""
    if old is None and obj.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    if (obj["metadata"].get("labels") or {}).get(_MANAGED_BY) in _OWN_MANAGERS:
        return
    for position, endpoint in enumerate(obj.get("endpoints") or ()):
        for number, address in enumerate(endpoint.get("addresses") or ()):
            yield from ip_warnings(f"endpoints[{position}].addresses[{number}]", address)


def _addresses(obj: Tree) -> Iterator[str]:
    for endpoint in obj.get("endpoints") or ():
        yield from endpoint.get("addresses") or ()


def _validate_endpoints(endpoints: Sequence[Tree], type_: str, old_addresses: frozenset[str]) -> Iterator[FieldError]:
    if len(endpoints) > _ENDPOINTS_MAX:
        yield field.too_many(_ENDPOINTS, len(endpoints), max_items=_ENDPOINTS_MAX)
        return
    for position, endpoint in enumerate(endpoints):
        item_path = _ENDPOINTS.index(position)
        yield from _validate_addresses(
            endpoint.get("addresses") or (), item_path.child("addresses"), type_, old_addresses
        )
        node, hostname = endpoint.get("nodeName"), endpoint.get("hostname")
        if node is not None:
            yield from check_all(item_path.child("nodeName"), node, names.check_dns1123_subdomain(node))
        topology = endpoint.get("deprecatedTopology") or {}
        if len(topology) > _TOPOLOGY_MAX:
            yield field.too_many(item_path.child("deprecatedTopology"), len(topology), max_items=_TOPOLOGY_MAX)
        yield from validate_labels(topology, item_path.child("deprecatedTopology"))
        if hostname is not None:
            yield from check_all(item_path.child("hostname"), hostname, names.check_dns1123_label(hostname))
        hints = endpoint.get("hints") or {}
        hints_path = item_path.child("hints")
        yield from _validate_hints(hints.get("forZones"), hints_path.child("forZones"), names.check_label_value)
        yield from _validate_hints(hints.get("forNodes"), hints_path.child("forNodes"), names.check_dns1123_subdomain)


def _validate_addresses(
    addresses: Sequence[str], path: Path, type_: str, old_addresses: frozenset[str]
) -> Iterator[FieldError]:
    if not addresses:
        yield field.required(path, "must contain at least 1 address")
    elif len(addresses) > _ADDRESSES_MAX:
        yield field.too_many(path, len(addresses), max_items=_ADDRESSES_MAX)
    for position, address in enumerate(addresses):
        item_path = path.index(position)
        if type_ == "FQDN":
            yield from _check_host(address, item_path)
        elif type_ in ("IPv4", "IPv6"):
            faults = (check_ip_loosely if address in old_addresses else check_canonical_ip)(address)
            yield from check_all(item_path, address, faults)
            ip = parse_ip(address)
            if faults or ip is None:
                continue
            if f"IPv{ip.version}" != type_:
                yield field.invalid(path, address, f"must be an {type_} address")
            yield from validate_endpoint_ip(address, item_path)


def _check_host(host: str, path: Path) -> Iterator[FieldError]:
    """Validate a fully qualified domain name, with an optional final dot."""
    if not host:
        yield field.required(path)
        return
    name = host.removesuffix(".")
    faults = names.check_dns1123_subdomain(name)
    if faults:
        yield field.invalid(path, name, ",".join(faults))
    elif "." not in name:
        yield field.invalid(path, name, "should be a domain with at least two segments separated by dots")


def _validate_hints(
    hints: Sequence[Tree] | None, path: Path, check: Callable[[str], names.Faults]
) -> Iterator[FieldError]:
    if len(hints or ()) > _HINTS_MAX:
        yield field.too_many(path, len(hints or ()), max_items=_HINTS_MAX)
        return
    seen: set[str] = set()
    for position, hint in enumerate(hints or ()):
        name, name_path = hint.get("name") or "", path.index(position).child("name")
        if name in seen:
            yield field.duplicate(name_path, name)
        yield from check_all(name_path, name, check(name))
        seen.add(name)


def _validate_ports(ports: Sequence[Tree]) -> Iterator[FieldError]:
    if len(ports) > _PORTS_MAX:
        yield field.too_many(_PORTS, len(ports), max_items=_PORTS_MAX)
        return
    seen: set[str] = set()
    for position, port in enumerate(ports):
        item_path, name = _PORTS.index(position), port.get("name") or ""
        if name:
            yield from check_all(item_path.child("name"), name, names.check_dns1123_label(name))
        if name in seen:
            yield field.duplicate(item_path.child("name"), name)
        seen.add(name)
        if port.get("protocol") is None:
            yield field.required(item_path.child("protocol"))
        else:
            yield from check_one_of(port["protocol"], PROTOCOLS, item_path.child("protocol"))
        protocol = port.get("appProtocol")
        if protocol is not None:
            yield from check_all(item_path.child("appProtocol"), protocol, names.check_qualified_name(protocol))
