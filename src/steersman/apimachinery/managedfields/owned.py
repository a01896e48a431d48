"""The fields that a tree names: what the manager who applies it will own.

Other than in ``compare.everything``, objects with fields of their own are no members: who applies ``spec.replicas``
owns just that.
"""

from __future__ import annotations

from typing import Any

from steersman.apimachinery.managedfields.elements import SELF
from steersman.apimachinery.managedfields.fieldset import Node, in_order
from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError, element_of
from steersman.apimachinery.managedfields.shapes import DEDUCED
from steersman.schema.model import ListOf, ListType, MapOf, Scalar, Struct, Type


def field_set(tree: dict[str, Any], struct: Struct) -> Node:
    """The set of all leaves of a tree that fits its type. List items without a key have no path and are passed over."""
    return _object(tree, struct)


def _below(value: Any, type_: Type) -> Node:
    """What is owned below a value; empty when the value is a leaf."""
    cls = type_.__class__
    if cls is Scalar or not value:
        return {}
    if cls is ListOf:
        if type_.list_type is ListType.ATOMIC or value.__class__ is not list:  # type: ignore[union-attr]  # a ListOf
            return {}
        return _items(value, type_)  # type: ignore[arg-type]  # a ListOf
    if value.__class__ is not dict or type_.atomic:  # type: ignore[union-attr]  # a Struct or MapOf
        return {}
    return _object(value, type_)  # type: ignore[arg-type]  # a Struct or MapOf


def _object(value: dict[str, Any], type_: Struct | MapOf) -> Node:
    node: Node = {}
    if type_.__class__ is MapOf:
        item_type = type_.value
        for name in sorted(value):
            node[f"f:{name}"] = {} if item_type.__class__ is Scalar else _member(value[name], item_type)
        return node
    fields = type_.fields  # type: ignore[union-attr]  # a Struct
    for name in sorted(value):
        item = value[name]
        field = fields.get(name)
        if field is None:
            node[f"f:{name}"] = _member(item, DEDUCED)
        elif field.type.__class__ is Scalar:
            node[f"f:{name}"] = {}
        elif item == [] and _has_separate_items(field.type):
            continue  # an empty list owns nothing, it has no items
        else:
            node[f"f:{name}"] = _below(item, field.type)
    return node


def _has_separate_items(type_: Type) -> bool:
    return isinstance(type_, ListOf) and type_.list_type is not ListType.ATOMIC


def _member(value: Any, type_: Type) -> Node:
    """The value itself, and what is owned below it."""
    below = _below(value, type_)
    return {SELF: {}, **below} if below else below


def _items(items: list[Any], type_: ListOf) -> Node:
    node: Node = {}
    for item in items:
        try:
            element = element_of(item, type_)
        except UnkeyedItemError:
            continue
        # An item that is there twice is owned as a whole.
        node[element] = {} if element in node else _member(item, type_.item)
    return in_order(node)
