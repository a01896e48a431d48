"""Sorting of large collections in parts: one call of ``sorted`` holds the interpreter lock until it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from steersman.apimachinery.workmeter import charged, spend

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

T = TypeVar("T")

#: Items that one call sorts, or merges with as many; larger runs are merged by one call nevertheless, which is linear.
PART_ITEMS: Final = 4096
_UNITS_PER_KEY: Final = 2
_ITEMS_PER_UNIT: Final = 4


def sorted_in_parts(items: Collection[T], key: Callable[[T], Any] | None = None) -> list[T]:
    """Return what ``sorted`` returns."""
    if len(items) <= PART_ITEMS:
        return sorted(items, key=key)  # type: ignore[type-var, arg-type]  # comparable, as for ``sorted``
    if key is None:
        return _merged(list(items))
    originals = list(items)
    # Positions keep the order of items with equal keys.
    ranks = [(key(item), position) for position, item in enumerate(charged(originals, _UNITS_PER_KEY))]
    return [originals[position] for _, position in _merged(ranks)]


def _merged(items: list[Any]) -> list[Any]:
    runs: list[list[Any]] = []
    for start in range(0, len(items), PART_ITEMS):
        runs.append(sorted(items[start : start + PART_ITEMS]))
        spend(PART_ITEMS // _ITEMS_PER_UNIT)
    while len(runs) > 1:
        pairs = runs
        runs = []
        for position in range(0, len(pairs), 2):
            run = [item for pair in pairs[position : position + 2] for item in pair]
            run.sort()  # merges two sorted runs
            spend(len(run) // _ITEMS_PER_UNIT)
            runs.append(run)
    return runs[0]
