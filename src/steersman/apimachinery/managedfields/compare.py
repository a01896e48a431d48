"""Comparison of two objects as sets of changed and removed fields; the hot path of every update.

Equal parts are skipped by one comparison each. Values of a wrong type count as leaves: validation rejects them later.
"""

from __future__ import annotations

from operator import eq
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.managedfields.elements import SELF
from steersman.apimachinery.managedfields.equality import equal_exactly
from steersman.apimachinery.managedfields.fieldset import LEAF_NODE, Filter, Node, in_order
from steersman.apimachinery.managedfields.shapes import DEDUCED, ListShape, ObjectShape, Shape, is_strict, root_shape
from steersman.apimachinery.workmeter import charged

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.typemodel import Struct

#: Identity and bookkeeping fields, which no manager owns.
UNOWNED: Final = frozenset({"apiVersion", "kind"})
UNOWNED_METADATA: Final = frozenset(
    {
        "clusterName",
        "creationTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
_UNITS_PER_NAME: Final = 1
_MISSING: Final = object()
_NO_ITEMS: Final[list[Any]] = []


class Comparison(NamedTuple):
    """Difference of a new object from a live one."""

    #: Fields that are new or hold another value.
    changed: Node
    removed: Node

    def without(self, reset: Filter) -> Comparison:
        """Return the comparison restricted to the fields that the filter keeps."""
        return Comparison(reset(self.changed), reset(self.removed))


def compare_objects(live: dict[str, Any], new: dict[str, Any], struct: Struct) -> Comparison:
    """Compare two objects of a kind without their identity fields. Raises UnkeyedItemError."""
    walk = _Walk(eq if is_strict(struct) else equal_exactly)
    shape = root_shape(struct)
    changed: Node = {}
    removed: Node = {}
    for name, value in new.items():
        if name in UNOWNED:
            continue
        old = live.get(name, _MISSING)
        if old is value:
            continue
        element, part = shape.step(name)
        if name == "metadata":
            if old is _MISSING:
                old = None
            walk.value(element, _owned_metadata(old), _owned_metadata(value), part, changed, removed)
        elif old is _MISSING:
            changed[element] = part.everything(value)
        elif not walk.equal(old, value):
            walk.value(element, old, value, part, changed, removed)
    for name, old in live.items():
        if name not in new and name not in UNOWNED:
            element, part = shape.step(name)
            removed[element] = part.everything(_owned_metadata(old) if name == "metadata" else old)
    return Comparison(in_order(changed), in_order(removed))


def compare_trees(live: dict[str, Any], new: dict[str, Any], struct: Struct) -> Comparison:
    """Compare two trees of a type with all fields. Raises UnkeyedItemError."""
    changed: Node = {}
    removed: Node = {}
    _Walk(equal_exactly).object(live, new, root_shape(struct), changed, removed)
    return Comparison(in_order(changed), in_order(removed))


def _owned_metadata(metadata: Any) -> dict[str, Any]:
    if metadata.__class__ is not dict:
        return {}
    return {name: value for name, value in metadata.items() if name not in UNOWNED_METADATA}


class _Walk:
    """Parallel walk over two trees. Methods add differences to ``changed`` and ``removed``, unordered."""

    __slots__ = ("equal",)

    def __init__(self, equal: Callable[[Any, Any], bool]) -> None:
        self.equal = equal

    def value(  # noqa: PLR0917 — the hot path: keywords cost
        self, element: str, old: Any, new: Any, shape: Shape, changed: Node, removed: Node
    ) -> None:
        """Compare two different values, or two objects, at ``element`` of a node."""
        if shape.is_leaf:
            changed[element] = LEAF_NODE
            return
        sub_changed: Node = {}
        sub_removed: Node = {}
        kind = list if isinstance(shape, ListShape) else dict
        was_typed, is_typed = old.__class__ is kind, new.__class__ is kind
        if (was_typed or old is None) and (is_typed or new is None):
            if not old and not new:
                if old.__class__ is not new.__class__:
                    changed[element] = LEAF_NODE
                return
            if not old:  # all is new: no need to compare, and to sort again
                whole = shape.everything(new).copy()  # objects of one form share a node
                del whole[SELF]
                changed[element] = whole
                return
        elif shape is DEDUCED:
            # A value that becomes or ceases to be an object changes as a whole, and its parts are added or removed.
            sub_changed[SELF] = {}
        else:
            changed[element] = {}
            return
        if isinstance(shape, ListShape):
            self.list(old or _NO_ITEMS, new or _NO_ITEMS, shape, sub_changed, sub_removed)
        elif isinstance(shape, ObjectShape):
            self.object(old if was_typed else {}, new if is_typed else {}, shape, sub_changed, sub_removed)
        if sub_changed:
            changed[element] = in_order(sub_changed) if len(sub_changed) > 1 or SELF not in sub_changed else {}
        if sub_removed:
            removed[element] = in_order(sub_removed)

    def object(
        self, old: dict[str, Any], new: dict[str, Any], shape: ObjectShape, changed: Node, removed: Node
    ) -> None:
        """Compare two objects field by field."""
        equal = self.equal
        for name, value in charged(new.items(), _UNITS_PER_NAME):
            old_value = old.get(name, _MISSING)
            if old_value is _MISSING:
                element, part = shape.step(name)
                changed[element] = LEAF_NODE if part.is_leaf else part.everything(value)
            elif old_value is not value and not equal(old_value, value):
                element, part = shape.step(name)
                self.value(element, old_value, value, part, changed, removed)
        for name, old_value in charged(old.items(), _UNITS_PER_NAME):
            if name not in new:
                element, part = shape.step(name)
                removed[element] = part.everything(old_value)

    def list(self, old: list[Any], new: list[Any], shape: ListShape, changed: Node, removed: Node) -> None:
        """Compare two lists by item key, whatever the order; duplicate items count as one leaf."""
        olds, news = _grouped(old, shape), _grouped(new, shape)
        part = shape.item
        for element in charged({**olds, **news}, _UNITS_PER_NAME):
            old_items, new_items = olds.get(element, _NO_ITEMS), news.get(element, _NO_ITEMS)
            if len(old_items) <= 1 and len(new_items) <= 1:
                if not old_items:
                    changed[element] = part.everything(new_items[0])
                elif not new_items:
                    removed[element] = part.everything(old_items[0])
                elif not self.equal(old_items[0], new_items[0]):
                    self.value(element, old_items[0], new_items[0], part, changed, removed)
            elif len(old_items) > 1 and len(new_items) > 1:
                if not self.equal(old_items, new_items):
                    changed[element] = {}
            elif len(old_items) > 1:
                removed[element] = {}
                if new_items:
                    changed[element] = part.everything(new_items[0])
            else:
                changed[element] = {}
                if old_items:
                    removed[element] = part.everything(old_items[0])


def _grouped(items: list[Any], shape: ListShape) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for element, item in zip(shape.keys.elements_of(items), items, strict=True):
        groups.setdefault(element, []).append(item)
    return groups
