"""Validation ratcheting (KEP-4008): unchanged values may stay invalid on update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apimachinery.field import ErrorType
from steersman.apimachinery.trees import same_tree
from steersman.schema import openapi_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.schema.openapi_values import Fault


_LIST_TYPE = "x-kubernetes-list-type"


def new_faults(schema: Tree, faults: Sequence[Fault], obj: Any, old: Any) -> Sequence[Fault]:
    """Return the faults of ``obj`` in values that differ from ``old``."""
    if not faults:
        return faults
    unchanged = set(_unchanged(schema, obj, old, ""))
    remaining = [fault for fault in faults if not _lies_in(fault.place, unchanged)]
    if any(map(_is_double, remaining)) and any(map(_is_double, openapi_values.validate(schema, old))):
        remaining = [fault for fault in remaining if not _is_double(fault)]
    return remaining


def _is_double(fault: Fault) -> bool:
    return fault.error.type is ErrorType.DUPLICATE


def _lies_in(place: str, unchanged: set[str]) -> bool:
    return place in unchanged or any(place[:end] in unchanged for end, sign in enumerate(place) if sign in ".[")


def _unchanged(schema: Tree, value: Any, old: Any, path: str) -> Iterator[str]:
    """Yield the paths of unchanged values, without those below them."""
    if path and _is_same(schema, value, old):
        yield path
    elif isinstance(value, dict) and isinstance(old, dict):
        for name, item in value.items():
            below = _schema_of(schema, name)
            if below is not None and name in old:
                yield from _unchanged(below, item, old[name], f"{path}.{name}" if path else name)
    elif isinstance(value, list) and isinstance(old, list):
        for position, (item, partner) in enumerate(zip(value, _partners(schema, value, old), strict=True)):
            if partner is not None:
                yield from _unchanged(schema.get("items") or {}, item, partner, f"{path}[{position}]")


def _schema_of(schema: Tree, name: str) -> Tree | None:
    """Return the schema of a field; None if unspecified."""
    others = schema.get("additionalProperties")
    subschema = (schema.get("properties") or {}).get(name, others)
    return subschema if isinstance(subschema, dict) else None


def _partners(schema: Tree, items: list[Any], old: list[Any]) -> list[Any]:
    """Return the old value of each item; None without one. Only items of lists of type ``map`` are correlated.

    Upstream: ``CorrelatedObject.correlateOldValueForChildAtNewIndex`` in k8s.io/apiserver/pkg/cel/common.
    """
    if schema.get(_LIST_TYPE) != "map":
        return [None] * len(items)
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    old_by_key = {_key(item, keys): item for item in old}
    return [old_by_key.get(_key(item, keys)) for item in items]


def _key(item: Any, keys: Sequence[str]) -> str:
    return repr([item.get(key) for key in keys]) if isinstance(item, dict) else ""


def _is_same(schema: Tree, value: Any, old: Any) -> bool:
    """True if a value is unchanged: lists without correlated items as a whole, objects if all fields are specified."""
    if isinstance(value, dict) and isinstance(old, dict):
        if len(value) != len(old):
            return False
        fields = [(_schema_of(schema, name), name) for name in value]
        return all(
            below is not None and name in old and _is_same(below, value[name], old[name]) for below, name in fields
        )
    if isinstance(value, list) and isinstance(old, list):
        if schema.get(_LIST_TYPE) != "map":
            return same_tree(value, old)
        partners = _partners(schema, value, old)
        below = schema.get("items") or {}
        return len(value) == len(old) and all(
            partner is not None and _is_same(below, item, partner)
            for item, partner in zip(value, partners, strict=True)
        )
    return same_tree(value, old)
