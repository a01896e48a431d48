"""Sets that were written under another schema, and sets made ready for cutting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.managedfields.elements import SELF
from steersman.apimachinery.managedfields.shapes import DEDUCED, FieldsShape

if TYPE_CHECKING:
    from steersman.apimachinery.managedfields.fieldset import Node
    from steersman.apimachinery.managedfields.shapes import Shape


def reconcile(node: Node, shape: Shape) -> Node:
    """The set as the type sees it now: who owned a part of what has become one field owns all of it.

    The same node when nothing changes. Fields that the type does not know stay.
    """
    changed: Node | None = None
    for element, below in node.items():
        if not below:
            continue
        part = shape.at(element)
        if part is None or part is DEDUCED:
            continue
        now = {} if part.was_parts else reconcile(below, part)
        if now is not below:
            changed = dict(node) if changed is None else changed
            changed[element] = now
    return node if changed is None else changed


def with_named_fields(node: Node, shape: Shape) -> Node:
    """The set with every declared field on the way to a member made a member too; map keys and list items are not.

    Needed where trees are cut: ``f:spec`` goes when all below it goes.
    """
    out: Node = {}
    for element, below in node.items():
        if not below:
            out[element] = below
            continue
        part = shape.at(element)
        inner = below if part is None else with_named_fields(below, part)
        named = isinstance(shape, FieldsShape) and shape.declares(element)
        out[element] = {SELF: {}, **inner} if named and SELF not in inner else inner
    return out
