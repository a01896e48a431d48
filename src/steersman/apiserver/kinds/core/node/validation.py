"""Validation and warnings of Nodes. Upstream: ``ValidateNode``, ``ValidateNodeUpdate``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import check_cidr, parse_cidr
from steersman.apimachinery.gotext import quote
from steersman.apiserver.kinds.shared.address_warnings import cidr_warnings
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.podspec.validate_placement import TAINT_EFFECTS
from steersman.apiserver.kinds.shared.podspec.validate_resources import check_amount
from steersman.apiserver.kinds.shared.validation import check_all, repeat_positions, validate_qualified_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_CIDRS: Final = _SPEC.child("podCIDRs")
_TAINTS: Final = field.Path("metadata", "taints")
_FEATURE: Final = re.compile("[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_NO_FEATURE: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
    "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def validate_node(node: Tree) -> list[FieldError]:
    """Validate a new Node."""
    return [
        *_validate_taints(node),
        *_validate_resources(node),
        *_validate_swap(node),
        *_validate_features(node),
        *_validate_cidrs(node),
    ]


def validate_node_update(node: Tree, old: Tree) -> list[FieldError]:
    """Validate an update of a Node. ``podCIDRs`` and ``providerID`` are immutable once set."""
    errors = [*_validate_resources(node), *_validate_features(node)]
    addresses = (node.get("status") or {}).get("addresses") or ()
    for position in sorted(repeat_positions(addresses)):
        path = field.Path("status", "addresses").index(position)
        errors.append(field.duplicate(path, go_form("NodeAddress", addresses[position])))
    spec, before = node.get("spec") or {}, old.get("spec") or {}
    errors += _validate_cidr_changes(spec.get("podCIDRs") or [], before.get("podCIDRs") or [])
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        detail = 'node updates may not change providerID except from "" to valid'
        errors.append(field.forbidden(_SPEC.child("providerID"), detail))
    errors += _validate_taints(node)
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        errors.append(field.forbidden(_SPEC.child("externalID"), "may not be updated"))
    return errors


def _validate_cidr_changes(cidrs: Sequence[str], before: Sequence[str]) -> Iterator[FieldError]:
    """Reject changes of ``podCIDRs`` that are set, with one error per changed item."""
    changes = 1
    if len(cidrs) == len(before):
        changes = sum(text != other for text, other in zip(cidrs, before, strict=True))
    for _ in range(changes if before else 0):
        yield field.forbidden(_CIDRS, 'node updates may not change podCIDR except from "" to valid')


def _validate_taints(node: Tree) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate((node.get("spec") or {}).get("taints") or ()):
        item_path = _TAINTS.index(position)
        key, value, effect = taint.get("key") or "", taint.get("value") or "", taint.get("effect") or ""
        yield from validate_qualified_name(key, item_path.child("key"))
        faults = names.check_label_value(value)
        if faults:
            yield field.invalid(item_path.child("value"), value, ";".join(faults))
        if not effect:
            yield field.required(item_path.child("effect"))
        elif effect not in TAINT_EFFECTS:
            yield field.not_supported(item_path.child("effect"), effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            yield field.FieldError(field.ErrorType.DUPLICATE, item_path, value=go_form("Taint", taint), detail=detail)
        seen.add((key, effect))


def _validate_resources(node: Tree) -> Iterator[FieldError]:
    for name in ("capacity", "allocatable"):
        for resource, amount in sorted(((node.get("status") or {}).get(name) or {}).items()):
            yield from check_amount(resource, amount, field.Path("status", name, resource))


def _validate_swap(node: Tree) -> Iterator[FieldError]:
    capacity = (((node.get("status") or {}).get("nodeInfo") or {}).get("swap") or {}).get("capacity")
    if capacity is not None and capacity <= 0:
        # upstream's path, which differs from the field's
        yield field.invalid(field.Path("metadata", "nodeSwapStatus", "capacity"), capacity, "must be greater than zero")


def _validate_features(node: Tree) -> Iterator[FieldError]:
    """Validate ``status.declaredFeatures`` (KEP-5328): unique and sorted."""
    features = (node.get("status") or {}).get("declaredFeatures") or ()
    path = field.Path("status", "declaredFeatures")
    for position, feature in enumerate(features):
        fault = _feature_fault(feature)
        if fault:
            yield field.invalid(path.index(position), feature, f"invalid feature name {quote(feature)}: {fault}")
        following = features[position + 1] if position + 1 < len(features) else None
        if following == feature:
            yield field.duplicate(path.index(position + 1), following)
        elif following is not None and following < feature:
            yield field.invalid(path.index(position + 1), following, "list must be sorted alphabetically")


def _feature_fault(feature: str) -> str:
    if len(feature) > names.SUBDOMAIN_MAX_BYTES:
        return f"must be no more than {names.SUBDOMAIN_MAX_BYTES} characters"
    return "" if _FEATURE.fullmatch(feature) else _NO_FEATURE


def _validate_cidrs(node: Tree) -> Iterator[FieldError]:
    cidrs = (node.get("spec") or {}).get("podCIDRs") or []
    for position, text in enumerate(cidrs):
        yield from check_all(_CIDRS.index(position), text, check_cidr(text))
    if len(cidrs) < 2:
        return
    networks = [parse_cidr(text) for text in cidrs]
    if None in networks:
        position = networks.index(None)
        wrong = f"invalid CIDR[{position}]: <nil> (invalid CIDR address: {cidrs[position]})"
        detail = f"invalid PodCIDRs. failed to check with dual stack with error:{wrong}"
        yield field.internal(_CIDRS, detail)
    if None in networks or len({network.version for network in networks if network}) < 2 or len(cidrs) > 2:
        yield field.invalid(_CIDRS, cidrs, "may specify no more than one CIDR for each IP family")
    repeats = repeat_positions(cidrs)
    for position, text in enumerate(cidrs):
        if position in repeats:
            yield field.duplicate(_CIDRS.index(position), text)


# -- warnings ---------------------------------------------------------------------------------------------------------


def node_warnings(node: Tree) -> Iterator[str]:
    """Yield warnings about deprecated fields and labels of a Node."""
    spec = node.get("spec") or {}
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for position, text in enumerate(spec.get("podCIDRs") or ()):
        yield from cidr_warnings(f"spec.podCIDRs[{position}]", text)
