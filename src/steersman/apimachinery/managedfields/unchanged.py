"""Detection of an apply that repeats the last one, by far the most frequent apply."""

from __future__ import annotations

from operator import eq
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.managedfields.compare import UNOWNED, UNOWNED_METADATA
from steersman.apimachinery.managedfields.elements import SELF
from steersman.apimachinery.managedfields.equality import equal_exactly
from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError
from steersman.apimachinery.managedfields.shapes import (
    DEDUCED,
    FieldsShape,
    ListShape,
    ObjectShape,
    Shape,
    is_strict,
    root_shape,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.managedfields.fieldset import Node
    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct

_MISSING: Final = object()


def repeats(config: Tree, live: Tree, fields: Node, struct: Struct) -> bool:
    """Report whether the config names exactly ``fields``, and the live object has the config's value for each.

    Then merging changes nothing. May return False for other no-ops; the full apply detects them.
    """
    metadata, live_metadata = config.get("metadata"), live.get("metadata")
    if metadata.__class__ is not dict or live_metadata.__class__ is not dict:
        return False
    owned: dict[str, Any] = {}
    for name, value in metadata.items():
        if name not in UNOWNED_METADATA:
            owned[name] = value
        elif value != live_metadata.get(name):
            return False
    parts = {name: value for name, value in config.items() if name not in UNOWNED}
    if owned:
        parts["metadata"] = owned
    else:
        del parts["metadata"]
    walk = _Walk(eq if is_strict(struct) else equal_exactly)
    try:
        return walk.object(parts, live, fields, root_shape(struct), len(fields))
    except UnkeyedItemError:
        return False


class _Walk:
    """Parallel walk over an applied tree, the live one and the last applied fields."""

    __slots__ = ("equal",)

    def __init__(self, equal: Callable[[Any, Any], bool]) -> None:
        self.equal = equal

    def object(self, applied: Tree, live: Tree, node: Node, shape: ObjectShape, count: int) -> bool:
        """``count`` is the number of parts that the node names."""
        if len(applied) != count:
            return False
        equal = self.equal
        for name, value in applied.items():
            element, part = shape.step(name)
            below = node.get(element)
            if below is None:
                return False
            if part.is_leaf or not below:
                if below or _has_parts(value, part) or not equal(value, live.get(name, _MISSING)):
                    return False
                continue
            is_member = not isinstance(shape, FieldsShape) or not shape.declares(element)
            if not self._part(value, live.get(name), below, part, is_member=is_member):
                return False
        return True

    def _part(self, value: Any, live: Any, node: Node, shape: Shape, *, is_member: bool) -> bool:
        """Compare a part with parts of its own, in a node that is not empty."""
        if (SELF in node) is not is_member:
            return False
        count = len(node) - is_member
        if isinstance(shape, ObjectShape) and value.__class__ is live.__class__ is dict:
            return self.object(value, live, node, shape, count)
        if isinstance(shape, ListShape) and value.__class__ is live.__class__ is list:
            return len(value) == count and self._items(value, live, node, shape)
        return False

    def _items(self, items: list[Any], live: list[Any], node: Node, shape: ListShape) -> bool:
        """Compare items in the order of the live list."""
        element_of, part = shape.keys.element_of, shape.item
        lives = iter(live)
        for item in items:
            element = element_of(item)
            below = node.get(element)
            live_item = next((other for other in lives if element_of(other) == element), _MISSING)
            if below is None or live_item is _MISSING:
                return False
            if not below:
                if _has_parts(item, part) or not self.equal(item, live_item):
                    return False
            elif part.is_leaf or not self._part(item, live_item, below, part, is_member=True):
                return False
        return True


def _has_parts(value: Any, shape: Shape) -> bool:
    """Report whether the value has separately owned parts."""
    if shape.is_leaf or not value:
        return False
    return shape is not DEDUCED or value.__class__ is dict
