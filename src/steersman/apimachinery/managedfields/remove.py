"""Taking fields out of a tree."""

from __future__ import annotations

from typing import Any

from steersman.apimachinery.managedfields.fieldset import Node, is_member
from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError, element_of
from steersman.apimachinery.managedfields.shapes import DEDUCED, field_type, is_leaf
from steersman.schema.model import ListOf, MapOf, Struct, Type


def remove_fields(tree: dict[str, Any], fields: Node, struct: Struct) -> dict[str, Any]:
    """The tree without the set's members. An object or list that loses all it had becomes null.

    Shares what it keeps with ``tree``.
    """
    if not fields:
        return tree
    return _remove(tree, fields, struct) or {}


def _remove(value: Any, fields: Node, type_: Type) -> Any:
    if not value or is_leaf(type_):
        return value if not isinstance(value, dict | list) else None
    if value.__class__ is list and type_.__class__ is ListOf:
        return _remove_items(value, fields, type_)
    if value.__class__ is list and type_ is DEDUCED:
        return None
    if value.__class__ is dict and type_.__class__ is not ListOf:
        return _remove_keys(value, fields, type_)  # type: ignore[arg-type]  # no leaf and no ListOf
    return value


def _remove_keys(value: dict[str, Any], fields: Node, type_: Struct | MapOf) -> dict[str, Any] | None:
    out: dict[str, Any] = {}
    for name, item in value.items():
        below = fields.get(f"f:{name}")
        if below is None:
            out[name] = item
        elif not is_member(below):
            out[name] = _remove(item, below, field_type(type_, name))
    return out or None


def _remove_items(items: list[Any], fields: Node, type_: ListOf) -> list[Any] | None:
    out: list[Any] = []
    for item in items:
        try:
            below = fields.get(element_of(item, type_))
        except UnkeyedItemError:
            below = None
        if below is None:
            out.append(item)
        elif not is_member(below):
            out.append(_remove(item, below, type_.item))
    return out or None
