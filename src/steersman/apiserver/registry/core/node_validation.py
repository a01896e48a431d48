"""What is refused of Nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.addresses import check_cidr, check_cidr_loosely, parse_cidr
from steersman.apiserver.registry.go_form import go_form
from steersman.apiserver.registry.podspec.validate_placement import TAINT_EFFECTS
from steersman.apiserver.registry.podspec.validate_resources import check_amount
from steersman.apiserver.registry.validation import check_all, validate_qualified_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.registry.strategy import Tree

_SPEC: Final = field.Path("spec")
_CIDRS: Final = _SPEC.child("podCIDRs")
_TAINTS: Final = field.Path("metadata", "taints")


def validate_node(node: Tree) -> list[FieldError]:
    """Everything that is wrong with a new node."""
    return [*_taints(node), *_resources(node), *_cidrs(node)]


def validate_node_update(node: Tree, old: Tree) -> list[FieldError]:
    """Everything that is wrong with a change of a node: networks and provider id stay once they are set."""
    errors = list(_resources(node))
    seen: list[Tree] = []
    for position, address in enumerate((node.get("status") or {}).get("addresses") or ()):
        if address in seen:
            errors.append(
                field.duplicate(field.Path("status", "addresses").index(position), go_form("NodeAddress", address))
            )
        seen.append(address)
    spec, before = node.get("spec") or {}, old.get("spec") or {}
    if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
        detail = 'node updates may not change podCIDR except from "" to valid'
        errors.append(field.forbidden(_CIDRS, detail))
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        detail = 'node updates may not change providerID except from "" to valid'
        errors.append(field.forbidden(_SPEC.child("providerID"), detail))
    errors += _taints(node)
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        errors.append(field.forbidden(_SPEC.child("externalID"), "may not be updated"))
    return errors


def _taints(node: Tree) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate((node.get("spec") or {}).get("taints") or ()):
        here = _TAINTS.index(position)
        key, value, effect = taint.get("key") or "", taint.get("value") or "", taint.get("effect") or ""
        yield from validate_qualified_name(key, here.child("key"))
        faults = names.check_label_value(value)
        if faults:
            yield field.invalid(here.child("value"), value, ";".join(faults))
        if not effect:
            yield field.required(here.child("effect"))
        elif effect not in TAINT_EFFECTS:
            yield field.not_supported(here.child("effect"), effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            yield field.FieldError(field.ErrorType.DUPLICATE, here, value=go_form("Taint", taint), detail=detail)
        seen.add((key, effect))


def _resources(node: Tree) -> Iterator[FieldError]:
    for name in ("capacity", "allocatable"):
        for resource, amount in sorted(((node.get("status") or {}).get(name) or {}).items()):
            yield from check_amount(resource, amount, field.Path("status", name, resource))


def _cidrs(node: Tree) -> Iterator[FieldError]:
    cidrs = (node.get("spec") or {}).get("podCIDRs") or []
    for position, text in enumerate(cidrs):
        yield from check_all(_CIDRS.index(position), text, check_cidr(text))
    if len(cidrs) < 2:
        return
    if any(check_cidr_loosely(text) for text in cidrs):
        return
    versions = [network.version for text in cidrs if (network := parse_cidr(text)) is not None]
    if len(set(versions)) < 2 or len(cidrs) > 2:
        yield field.invalid(_CIDRS, cidrs, "may specify no more than one CIDR for each IP family")
    for position, text in enumerate(cidrs):
        if text in cidrs[:position]:
            yield field.duplicate(_CIDRS.index(position), text)
