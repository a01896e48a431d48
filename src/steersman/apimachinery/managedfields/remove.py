"""Removal of fields from a tree. Upstream: structured-merge-diff v6.3.2, ``typed/remove.go``."""

from __future__ import annotations

from typing import Any, Final

from steersman.apimachinery.managedfields.fieldset import Node, is_member
from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError
from steersman.apimachinery.managedfields.shapes import ListShape, ObjectShape, Shape
from steersman.apimachinery.workmeter import charged

_UNITS_PER_ITEM: Final = 2


def remove_fields(tree: dict[str, Any], fields: Node, shape: ObjectShape) -> dict[str, Any]:
    """Return the tree without the set's members. An object or list that becomes empty stays, unless it is a member.

    Shares unchanged parts with ``tree``.
    """
    return _remove_keys(tree, fields, shape) if fields else tree


def _remove(value: Any, fields: Node, shape: Shape) -> Any:
    """Return a value without the members below it; an atomic object or list with members below it becomes empty."""
    if value.__class__ is list:
        return _remove_items(value, fields, shape) if isinstance(shape, ListShape) else []
    if value.__class__ is dict:
        return _remove_keys(value, fields, shape) if isinstance(shape, ObjectShape) else {}
    return value


def _remove_keys(value: dict[str, Any], fields: Node, shape: ObjectShape) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, item in charged(value.items(), _UNITS_PER_ITEM):
        element, part = shape.step(name)
        below = fields.get(element)
        if below is None:
            out[name] = item
        elif not is_member(below):
            out[name] = _remove(item, below, part)
    return out


def _remove_items(items: list[Any], fields: Node, shape: ListShape) -> list[Any]:
    out: list[Any] = []
    for item in charged(items, _UNITS_PER_ITEM):
        try:
            below = fields.get(shape.keys.element_of(item))
        except UnkeyedItemError:
            below = None
        if below is None:
            out.append(item)
        elif not is_member(below):
            out.append(_remove(item, below, shape.item))
    return out
