"""Kubernetes' list library: ``sum``, ``min``, ``max``, ``isSorted``, ``indexOf``, ``lastIndexOf``."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from steersman.cel import arithmetic as a
from steersman.cel import values as v
from steersman.cel.functions import Function, member
from steersman.cel.subtypes import UInt
from steersman.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    list_of,
    param,
)
from steersman.cel.values import Duration, EvalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Ordered types by their names in overloads.
ORDERED: Final = {
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "bool": BOOL,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "string": STRING,
    "bytes": BYTES,
}
_SUMS: Final = {"int": (INT, 0), "uint": (UINT, UInt(0)), "double": (DOUBLE, 0.0), "duration": (DURATION, Duration(0))}


def _is_sorted(items: list[Any]) -> bool:
    return all(a.less_or_equal(one, other) for one, other in pairwise(items))


def _sum(zero: Any) -> Callable[[list[Any]], Any]:
    return lambda items: reduce(a.add, items, zero)


def _best(name: str, better: Callable[[Any, Any], bool]) -> Callable[[list[Any]], Any]:
    def find(items: list[Any]) -> Any:
        if not items:
            raise EvalError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            if better(item, best):
                best = item
        return best

    return find


def _index_of(items: list[Any], value: Any) -> int:
    return next((place for place, item in enumerate(items) if v.equal(item, value)), -1)


def _last_index_of(items: list[Any], value: Any) -> int:
    return next((place for place in range(len(items) - 1, -1, -1) if v.equal(items[place], value)), -1)


def _traversal(value: Any) -> int:
    """Return the cost of a traversal: a tenth of the length of each text, 1 for each other scalar."""
    if isinstance(value, (str, bytes)):
        return len(value) // 10
    if isinstance(value, list):
        return sum(map(_traversal, value))
    if isinstance(value, dict):
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    return 1


def _cost(args: Sequence[Any], _: Any) -> int:
    return _traversal(args[0])


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    sorted_ = [member(f"list_{n}_is_sorted_bool", (list_of(t),), BOOL, _is_sorted) for n, t in ORDERED.items()]
    yield Function("isSorted", sorted_, cost=_cost)
    sums = [member(f"list_{n}_sum_{n}", (list_of(t),), t, _sum(zero)) for n, (t, zero) in _SUMS.items()]
    yield Function("sum", sums, cost=_cost)
    for name, better in (("max", a.greater), ("min", a.less)):
        find = _best(name, better)
        yield Function(
            name, [member(f"list_{n}_{name}_{n}", (list_of(t),), t, find) for n, t in ORDERED.items()], cost=_cost
        )
    item = param("T")
    for name, compute in (("indexOf", _index_of), ("lastIndexOf", _last_index_of)):
        label = "index_of" if name == "indexOf" else "last_index_of"
        yield Function(name, [member(f"list_a_{label}_int", (list_of(item), item), INT, compute)], cost=_cost)
