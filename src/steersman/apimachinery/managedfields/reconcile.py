"""Sets that were written under another schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.managedfields.shapes import DEDUCED, is_leaf
from steersman.schema.model import ListOf, MapOf, Scalar, ScalarKind, Struct, Type

if TYPE_CHECKING:
    from steersman.apimachinery.managedfields.fieldset import Node


def reconcile(node: Node, type_: Type) -> Node:
    """The set as the type sees it now: who owned a part of what has become one field owns all of it.

    The same node when nothing changes. Fields that the type does not know stay.
    """
    changed: Node | None = None
    for element, below in node.items():
        if not below:
            continue
        below_type = _type_below(type_, element)
        if below_type is None or below_type is DEDUCED:
            continue
        now = {} if _is_whole(below_type) else reconcile(below, below_type)
        if now is not below:
            changed = dict(node) if changed is None else changed
            changed[element] = now
    return node if changed is None else changed


def _is_whole(type_: Type) -> bool:
    """A leaf that may have had parts; nothing is ever below other scalars."""
    return type_.kind in (ScalarKind.ANY, ScalarKind.RAW) if isinstance(type_, Scalar) else is_leaf(type_)


def _type_below(type_: Type, element: str) -> Type | None:
    if isinstance(type_, ListOf):
        return type_.item
    if isinstance(type_, Struct) and element[:2] == "f:":
        field = type_.fields.get(element[2:])
        return None if field is None else field.type
    return type_.value if isinstance(type_, MapOf) else None


def with_named_fields(node: Node, type_: Type) -> Node:
    """The set with every declared field on the way to a member made a member too; map keys and list items are not.

    Needed where trees are cut: ``f:spec`` goes when all below it goes.
    """
    out: Node = {}
    for element, below in node.items():
        if not below:
            out[element] = below
            continue
        below_type = _type_below(type_, element)
        inner = below if below_type is None else with_named_fields(below, below_type)
        named = isinstance(type_, Struct) and element[:2] == "f:" and element[2:] in type_.fields
        out[element] = {".": {}, **inner} if named and "." not in inner else inner
    return out
