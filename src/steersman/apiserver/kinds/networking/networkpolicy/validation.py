"""Validation and warnings of NetworkPolicies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import check_cidr, check_cidr_loosely, parse_cidr
from steersman.apiserver.kinds.shared.address_warnings import cidr_warnings
from steersman.apiserver.kinds.shared.validation import check_all, validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_TYPES: Final = ("Ingress", "Egress")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_DIRECTIONS: Final = (("ingress", "from"), ("egress", "to"))


class _LegacyValues:
    """Invalid values accepted because the old policy has them."""

    def __init__(self, old: Tree | None) -> None:
        spec = (old.get("spec") or {}) if old is not None else {}
        self.cidrs = frozenset(cidr for _, cidr in _cidrs(spec))
        self.selectors = any(
            next(validate_label_selector(selector, _SPEC), None) is not None for selector in _selectors(spec)
        )


def validate_network_policy(obj: Tree, old: Tree | None = None) -> Iterator[FieldError]:
    """Validate a NetworkPolicy."""
    spec, leniency = obj.get("spec") or {}, _LegacyValues(old)
    yield from validate_label_selector(
        spec.get("podSelector"), _SPEC.child("podSelector"), allow_invalid_values=leniency.selectors
    )
    for direction, peers in _DIRECTIONS:
        for position, rule in enumerate(spec.get(direction) or ()):
            item_path = _SPEC.child(direction).index(position)
            for number, port in enumerate(rule.get("ports") or ()):
                yield from _validate_port(port, item_path.child("ports").index(number))
            for number, peer in enumerate(rule.get(peers) or ()):
                yield from _validate_peer(peer, item_path.child(peers).index(number), leniency)
    types, policy_types_path = spec.get("policyTypes") or (), _SPEC.child("policyTypes")
    if len(types) > len(_TYPES):
        yield field.invalid(policy_types_path, types, "may not specify more than two policyTypes")
        return
    for position, type_ in enumerate(types):
        if type_ not in _TYPES:
            yield field.not_supported(policy_types_path.index(position), type_, _TYPES)


def network_policy_warnings(obj: Tree) -> Iterator[str]:
    """Yield warnings about CIDRs in non-canonical form."""
    for path, cidr in _cidrs(obj.get("spec") or {}):
        yield from cidr_warnings(str(path), cidr)


def _cidrs(spec: Tree) -> Iterator[tuple[Path, str]]:
    for direction, peers in _DIRECTIONS:
        for position, rule in enumerate(spec.get(direction) or ()):
            for number, peer in enumerate(rule.get(peers) or ()):
                block = peer.get("ipBlock") or {}
                path = _SPEC.child(direction).index(position).child(peers).index(number).child("ipBlock")
                if block.get("cidr"):
                    yield path.child("cidr"), block["cidr"]
                for place, cidr in enumerate(block.get("except") or ()):
                    yield path.child("except").index(place), cidr


def _selectors(spec: Tree) -> Iterator[Tree | None]:
    yield spec.get("podSelector")
    for direction, peers in _DIRECTIONS:
        for rule in spec.get(direction) or ():
            for peer in rule.get(peers) or ():
                yield peer.get("podSelector")
                yield peer.get("namespaceSelector")


def _validate_port(port: Tree, path: Path) -> Iterator[FieldError]:
    protocol = port.get("protocol")
    if protocol is not None and protocol not in _PROTOCOLS:
        yield field.not_supported(path.child("protocol"), protocol, _PROTOCOLS)
    number, end = port.get("port"), port.get("endPort")
    if isinstance(number, int):
        yield from check_all(path.child("port"), number, names.check_port_number(number))
        if end is not None:
            if end < number:
                yield field.invalid(path.child("endPort"), number, "must be greater than or equal to `port`")
            yield from check_all(path.child("endPort"), end, names.check_port_number(end))
        return
    if end is not None:
        state = "not specified" if number is None else "non-numeric"
        yield field.invalid(path.child("endPort"), end, f"may not be specified when `port` is {state}")
    if number is not None:
        yield from check_all(path.child("port"), number, names.check_port_name(number))


def _validate_peer(peer: Tree, path: Path, leniency: _LegacyValues) -> Iterator[FieldError]:
    for name in ("podSelector", "namespaceSelector"):
        yield from validate_label_selector(peer.get(name), path.child(name), allow_invalid_values=leniency.selectors)
    block = peer.get("ipBlock")
    if block is not None:
        yield from _validate_block(block, path.child("ipBlock"), leniency)
    peer_fields = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    if not peer_fields:
        yield field.required(path, "must specify a peer")
    elif len(peer_fields) > 1 and block is not None:
        yield field.forbidden(path, "may not specify both ipBlock and another peer")


def _validate_block(block: Tree, path: Path, leniency: _LegacyValues) -> Iterator[FieldError]:
    cidr = block.get("cidr") or ""
    if not cidr:
        yield field.required(path.child("cidr"))
        return
    yield from _check_network(cidr, path.child("cidr"), leniency)
    network = parse_cidr(cidr)
    if network is None:
        return
    for position, text in enumerate(block.get("except") or ()):
        item_path = path.child("except").index(position)
        yield from _check_network(text, item_path, leniency)
        hole = parse_cidr(text)
        if hole is None:
            continue
        if hole.network_address not in network or hole.prefixlen <= network.prefixlen:
            yield field.invalid(item_path, text, "must be a strict subset of `cidr`")


def _check_network(cidr: str, path: Path, leniency: _LegacyValues) -> Iterator[FieldError]:
    check = check_cidr_loosely if cidr in leniency.cidrs else check_cidr
    yield from check_all(path, cidr, check(cidr))
