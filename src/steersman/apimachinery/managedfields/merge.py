"""Merge of an applied tree into the live one."""

from __future__ import annotations

from typing import Any, Final

from steersman.apimachinery.managedfields.shapes import DEDUCED, ListShape, ObjectShape, Shape
from steersman.apimachinery.trees import copy_tree
from steersman.apimachinery.workmeter import charged, spend

#: Work units of a key or item.
_UNITS: Final = 2
_ITEMS_AT_ONCE: Final = 256
_MISSING: Final = object()


def merge_objects(live: dict[str, Any], applied: dict[str, Any], shape: ObjectShape) -> dict[str, Any]:
    """Return a new tree with the fields of both; applied values win. It shares nothing with either.

    Raises UnkeyedItemError for a list item without its key.
    """
    out: dict[str, Any] = {}
    for name, value in charged(live.items(), _UNITS):
        over = applied.get(name, _MISSING)
        out[name] = _copy(value) if over is _MISSING else _merge(value, over, shape.step(name)[1])
    for name, value in charged(applied.items(), _UNITS):
        if name not in live:
            out[name] = _copy(value)
    return out


def _merge(live: Any, applied: Any, shape: Shape) -> Any:
    """Merge two values of one path. A null over an object or list is ignored, and an empty one adds nothing."""
    if shape.is_leaf or not live:
        return _copy(applied)
    if shape is DEDUCED and live.__class__ is not dict:
        return _copy(applied)
    if applied is None or (not applied and applied.__class__ is live.__class__):
        return _copy(live)
    if isinstance(shape, ListShape) and live.__class__ is applied.__class__ is list:
        return _merge_lists(live, applied, shape)
    if isinstance(shape, ObjectShape) and live.__class__ is applied.__class__ is dict:
        return merge_objects(live, applied, shape)
    return _copy(applied)


def _merge_lists(live: list[Any], applied: list[Any], shape: ListShape) -> list[Any]:
    """Merge two associative lists: applied items in their order, other live items at their places between them.

    Duplicate live items are kept, unless the item is applied, which then replaces them all.
    """
    live_elements, applied_elements = shape.keys.elements_of(live), shape.keys.elements_of(applied)
    lives = _unless_repeated(live_elements, live)
    applied_by_element = dict(zip(applied_elements, applied, strict=True))
    shared = [element for element in applied_elements if element in lives]
    shared.reverse()  # taken from the end
    out: list[Any] = []
    merged: set[str] = set()

    def take(element: str) -> None:
        """Emit an applied item, merged into its live item if there is exactly one."""
        live = lives.get(element)
        out.append(
            _copy(applied_by_element[element])
            if live is None
            else _merge(live, applied_by_element[element], shape.item)
        )
        merged.add(element)
        if shared and shared[-1] == element:
            shared.pop()

    at = next_applied = 0
    while at < len(live) or next_applied < len(applied):
        if not (at + next_applied + 1) % _ITEMS_AT_ONCE:
            spend(_UNITS * _ITEMS_AT_ONCE)
        if at < len(live):
            element = live_elements[at]
            if element not in applied_by_element:
                out.append(_copy(live[at]))
                at += 1
                continue
            if next_applied < len(applied):
                if element == applied_elements[next_applied]:
                    take(element)
                    at += 1
                    next_applied += 1
                    continue
                if shared and shared[-1] != element:
                    at += 1  # emitted with another applied item
                    continue
            if element in merged:
                at += 1
        if next_applied < len(applied):
            take(applied_elements[next_applied])
            next_applied += 1
    return out


def _copy(value: Any) -> Any:
    return copy_tree(value) if isinstance(value, (dict, list)) else value


def _unless_repeated(elements: list[str], items: list[Any]) -> dict[str, Any]:
    """Map elements to items, and to None if an item is duplicated: duplicates are not merged into."""
    by_element: dict[str, Any] = {}
    for element, item in zip(elements, items, strict=True):
        by_element[element] = None if element in by_element else item
    return by_element
