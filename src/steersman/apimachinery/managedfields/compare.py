"""What a write changes, as sets of fields: the heart of every update, and its hot path.

Equal parts are told by one comparison each and never walked. Values of a wrong type count as leaves: whoever refuses
them comes later.
"""

from __future__ import annotations

from operator import eq
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.managedfields.elements import SELF
from steersman.apimachinery.managedfields.fieldset import Node, in_order
from steersman.apimachinery.managedfields.listkeys import MISSING, elements_of
from steersman.apimachinery.managedfields.shapes import DEDUCED, equal_exactly, field_type, is_leaf, is_strict
from steersman.schema.model import ListOf, ListType, MapOf, Scalar, Struct, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Identity and bookkeeping of an object, which nobody owns.
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


_NONE: Final[list[Any]] = []


class Comparison(NamedTuple):
    """How a new object differs from a live one."""

    #: Fields that are new or hold another value.
    changed: Node
    removed: Node

    def without(self, reset: Callable[[Node], Node]) -> Comparison:
        """The same, of the fields only that the filter keeps."""
        return Comparison(reset(self.changed), reset(self.removed))


def compare_objects(live: dict[str, Any], new: dict[str, Any], struct: Struct) -> Comparison:
    """How two objects of a kind differ, their identity aside. Raises UnkeyedItemError for a list item without its key."""
    walk = _Walk(eq if is_strict(struct) else equal_exactly)
    changed: Node = {}
    removed: Node = {}
    for name in {**live, **new}:
        if name in UNOWNED:
            continue
        type_ = field_type(struct, name)
        old, value = live.get(name, MISSING), new.get(name, MISSING)
        if name == "metadata" and type_.__class__ is Struct:
            sub_changed: Node = {}
            sub_removed: Node = {}
            walk.object(_owned_metadata(old), _owned_metadata(value), type_, sub_changed, sub_removed)
            _put("f:metadata", sub_changed, sub_removed, changed, removed)
        elif old is MISSING:
            changed[f"f:{name}"] = everything(value, type_)
        elif value is MISSING:
            removed[f"f:{name}"] = everything(old, type_)
        elif not walk.equal(old, value):
            walk.value(f"f:{name}", old, value, type_, changed, removed)
    return Comparison(in_order(changed), in_order(removed))


def compare_trees(live: Any, new: Any, struct: Struct) -> Comparison:
    """How two trees of a type differ, everything counted."""
    changed: Node = {}
    removed: Node = {}
    _Walk(equal_exactly).object(live, new, struct, changed, removed)
    return Comparison(in_order(changed), in_order(removed))


def _owned_metadata(metadata: Any) -> dict[str, Any]:
    if metadata.__class__ is not dict:
        return {}
    return {name: value for name, value in metadata.items() if name not in UNOWNED_METADATA}


def everything(value: Any, type_: Type) -> Node:
    """All that comes or goes with a value, the value itself a member and everything below it too."""
    cls = type_.__class__
    if cls is Scalar or not value:
        return {}
    if cls is ListOf:
        if type_.list_type is ListType.ATOMIC or value.__class__ is not list:  # type: ignore[union-attr]  # a ListOf
            return {}
        return _all_items(value, type_)  # type: ignore[arg-type]  # a ListOf
    if value.__class__ is not dict or type_.atomic:  # type: ignore[union-attr]  # a Struct or MapOf
        return {}
    node: Node = {SELF: {}}
    if cls is MapOf:
        type_ = type_.value  # type: ignore[union-attr]  # a MapOf
        for name in sorted(value):
            node[f"f:{name}"] = {} if type_.__class__ is Scalar else everything(value[name], type_)
        return node
    fields = type_.fields  # type: ignore[union-attr]  # a Struct
    for name in sorted(value):
        field = fields.get(name)
        if field is None:
            node[f"f:{name}"] = everything(value[name], DEDUCED)
        else:
            below = field.type
            node[f"f:{name}"] = {} if below.__class__ is Scalar else everything(value[name], below)
    return node


def _all_items(items: list[Any], type_: ListOf) -> Node:
    elements = elements_of(items, type_)
    node: Node = {SELF: {}}
    item_type = type_.item
    if item_type.__class__ is Scalar:
        node.update((element, {}) for element in elements)
    elif len(elements) == 1:
        node[elements[0]] = everything(items[0], item_type)
        return node
    else:
        for element, item in zip(elements, items, strict=True):
            # An item that is there twice is owned as a whole.
            node[element] = {} if element in node else everything(item, item_type)
    return in_order(node)


def _put(element: str, sub_changed: Node, sub_removed: Node, changed: Node, removed: Node) -> None:
    if sub_changed:
        changed[element] = in_order(sub_changed)
    if sub_removed:
        removed[element] = in_order(sub_removed)


class _Walk:
    """Two trees side by side. Methods add what they find to ``changed`` and ``removed``, unordered."""

    __slots__ = ("equal",)

    def __init__(self, equal: Callable[[Any, Any], bool]) -> None:
        self.equal = equal

    def value(  # noqa: PLR0917 — the hot path: keywords cost
        self, element: str, old: Any, new: Any, type_: Type, changed: Node, removed: Node
    ) -> None:
        """Two values that differ, at ``element`` of a node."""
        if type_ is DEDUCED:
            self._deduced(element, old, new, changed, removed)
            return
        shape = list if type_.__class__ is ListOf else dict
        mixed = (old is not None and old.__class__ is not shape) or (new is not None and new.__class__ is not shape)
        if is_leaf(type_) or mixed or (not old and not new):
            changed[element] = {}
            return
        sub_changed: Node = {}
        sub_removed: Node = {}
        if shape is list:
            self.list(old or [], new or [], type_, sub_changed, sub_removed)  # type: ignore[arg-type]  # a ListOf
        else:
            self.object(old or {}, new or {}, type_, sub_changed, sub_removed)  # type: ignore[arg-type]  # no ListOf
        _put(element, sub_changed, sub_removed, changed, removed)

    def _deduced(self, element: str, old: Any, new: Any, changed: Node, removed: Node) -> None:
        """Without a type only objects have parts; an object that turns into something else loses all of them."""
        was_object, is_object = old.__class__ is dict, new.__class__ is dict
        sub_changed: Node = {}
        sub_removed: Node = {}
        if (was_object and old) or (is_object and new):
            self.object(old if was_object else {}, new if is_object else {}, DEDUCED, sub_changed, sub_removed)
        whole = not (was_object or old is None) or not (is_object or new is None) or not (old or new)
        if whole:
            sub_changed = {SELF: {}, **sub_changed} if sub_changed else {}
            changed[element] = in_order(sub_changed)
        _put(element, sub_changed, sub_removed, changed, removed)

    def object(
        self, old: dict[str, Any], new: dict[str, Any], type_: Struct | MapOf, changed: Node, removed: Node
    ) -> None:
        """Two objects, field by field."""
        equal = self.equal
        for name, value in new.items():
            was = old.get(name, MISSING)
            if was is MISSING:
                changed[f"f:{name}"] = everything(value, field_type(type_, name))
            elif was is not value and not equal(was, value):
                self.value(f"f:{name}", was, value, field_type(type_, name), changed, removed)
        for name, was in old.items():
            if name not in new:
                removed[f"f:{name}"] = everything(was, field_type(type_, name))

    def list(self, old: list[Any], new: list[Any], type_: ListOf, changed: Node, removed: Node) -> None:
        """Two lists, item by item, wherever the items stand; those that are there twice are one leaf together."""
        olds, news = _grouped(old, type_), _grouped(new, type_)
        item_type = type_.item
        for element in _unique(olds, news):
            was, now = olds.get(element, _NONE), news.get(element, _NONE)
            if len(was) <= 1 and len(now) <= 1:
                if not was:
                    changed[element] = everything(now[0], item_type)
                elif not now:
                    removed[element] = everything(was[0], item_type)
                elif not self.equal(was[0], now[0]):
                    self.value(element, was[0], now[0], item_type, changed, removed)
            elif len(was) > 1 and len(now) > 1:
                if not self.equal(was, now):
                    changed[element] = {}
            elif len(was) > 1:
                removed[element] = {}
                if now:
                    changed[element] = everything(now[0], item_type)
            else:
                changed[element] = {}
                if was:
                    removed[element] = everything(was[0], item_type)


def _grouped(items: list[Any], type_: ListOf) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for element, item in zip(elements_of(items, type_), items, strict=True):
        groups.setdefault(element, []).append(item)
    return groups


def _unique(olds: Iterable[str], news: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys((*olds, *news))
