"""Reconciliation of sets that were written under another schema, and expansion of sets for removal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.managedfields.elements import SELF
from steersman.apimachinery.managedfields.shapes import DEDUCED, FieldsShape
from steersman.apimachinery.workmeter import charged

if TYPE_CHECKING:
    from steersman.apimachinery.managedfields.fieldset import Node
    from steersman.apimachinery.managedfields.shapes import Shape

_UNITS_PER_ELEMENT: Final = 2


def reconcile(node: Node, shape: Shape) -> Node:
    """Return the set under the present type: owners of a part of a field that became atomic own all of it.

    Returns the same node if nothing changes. Fields unknown to the type are kept. Upstream:
    ``ReconcileFieldSetWithSchema``.
    """
    changed: Node | None = None
    for element, below in charged(node.items(), _UNITS_PER_ELEMENT):
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
    """Return the set with every declared field on the path to a member as a member; map keys and list items are not.

    Needed for removal: ``f:spec`` is removed when everything below it is.
    """
    out: Node = {}
    for element, below in charged(node.items(), _UNITS_PER_ELEMENT):
        if not below:
            out[element] = below
            continue
        part = shape.at(element)
        inner = below if part is None else with_named_fields(below, part)
        named = isinstance(shape, FieldsShape) and shape.declares(element)
        out[element] = {SELF: {}, **inner} if named and SELF not in inner else inner
    return out
