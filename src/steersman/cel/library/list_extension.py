"""cel-go's list extension, version 3: ``slice``, ``flatten``, ``distinct``, ``reverse``, ``sort``, ``sortBy``, ``lists.range``."""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Final

from steersman.cel import arithmetic as a
from steersman.cel import values as v
from steersman.cel.functions import Function, Overload, member
from steersman.cel.library.lists import ORDERED
from steersman.cel.types import DYN, INT, list_of, param
from steersman.cel.values import CostError, EvalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Cost of making a list.
_LIST_COST: Final = 10
#: Maximum length of ``lists.range``.
_RANGE_MAX: Final = 1_000_000


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise EvalError(f"{call}, negative indexes not supported")
    if start > end:
        raise EvalError(f"{call}, start index must be less than or equal to end index")
    if end > len(items):
        raise EvalError(f"{call}, list is length {len(items)}")
    return list(items[start:end])


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvalError("level must be non-negative")
    if not depth:
        return items
    flat: list[Any] = []
    for item in items:
        flat += _flatten(item, depth - 1) if isinstance(item, list) else [item]
    return flat


def _range(count: int) -> list[int]:
    if count > _RANGE_MAX:
        raise CostError
    return list(range(count))


def _distinct(items: list[Any]) -> list[Any]:
    values_by_key: dict[Any, Any] = {}
    for item in items:
        values_by_key.setdefault(v.freeze(item), item)
    return list(values_by_key.values())


def _reverse(items: list[Any]) -> list[Any]:
    return list(reversed(items))


def _compare(one: Any, other: Any) -> int:
    if a.less(one, other):
        return -1
    return 1 if a.less(other, one) else 0


def _check_keys(keys: list[Any]) -> None:
    if keys and any(type(key) is not type(keys[0]) for key in keys):
        raise EvalError("list elements must have the same type")
    if keys and (keys[0] is None or isinstance(keys[0], (list, dict))):
        raise EvalError("list elements must be comparable")


def _sort(items: list[Any]) -> list[Any]:
    _check_keys(items)
    return sorted(items, key=cmp_to_key(_compare))


def _sort_by_keys(items: Any, keys: list[Any]) -> list[Any]:
    if not isinstance(items, list):  # the macro takes maps as well, which have as many keys as entries
        raise EvalError(f"no such overload: @sortByAssociatedKeys({v.type_name(items)}, {v.type_name(keys)})")
    _check_keys(keys)
    order = sorted(range(len(items)), key=lambda place: cmp_to_key(_compare)(keys[place]))
    return [items[place] for place in order]


def _allocation(size: int) -> int:
    return size + _LIST_COST + 1


def _result_items(_: Sequence[Any], result: Any) -> int:
    return _allocation(len(result))


def _flattened(args: Sequence[Any], _: Any) -> int:
    return _allocation(len(args[0]) * (args[1] if len(args) > 1 else 1))


def _compared(args: Sequence[Any], _: Any) -> int:
    """Return the cost of comparing all items, or the keys they are sorted by, with each other."""
    items = args[-1]
    tenths = 21 if items and isinstance(items[0], (str, bytes)) else 20
    return _allocation(len(items) ** 2 * tenths // 10)


def functions() -> Iterator[Function]:
    """Return the functions of the library; ``sortBy`` is a macro for ``@sortByAssociatedKeys``."""
    item, items = param("T"), list_of(param("T"))
    yield Function("slice", [member("list_slice", (items, INT, INT), items, _slice)], cost=_result_items)
    yield Function(
        "flatten",
        [
            member("list_flatten", (list_of(items),), items, _flatten),
            member("list_flatten_int", (list_of(DYN), INT), list_of(DYN), _flatten),
        ],
        cost=_flattened,
    )
    yield Function("lists.range", [Overload("lists_range", (INT,), list_of(INT), _range)], cost=_result_items)
    yield Function("distinct", [member("list_distinct", (list_of(item),), items, _distinct)], cost=_compared)
    yield Function("reverse", [member("list_reverse", (items,), items, _reverse)], cost=_result_items)
    sorts = [member(f"list_{name}_sort", (list_of(t),), list_of(t), _sort) for name, t in ORDERED.items()]
    yield Function("sort", sorts, cost=_compared)
    by_keys = [
        member(f"list_{name}_sortByAssociatedKeys", (items, list_of(t)), items, _sort_by_keys)
        for name, t in ORDERED.items()
    ]
    yield Function("@sortByAssociatedKeys", by_keys, cost=_compared)
