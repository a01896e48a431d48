"""cel-go's sets extension: set operations on lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.cel import values as v
from steersman.cel.functions import Function, Overload
from steersman.cel.types import BOOL, list_of, param
from steersman.cel.values import CostError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Maximum number of comparisons; upstream charges after them, but no evaluation may cost that much.
_PAIRS_MAX: Final = 1_000_000


def _check_pairs(left: list[Any], right: list[Any]) -> None:
    if len(left) * len(right) > _PAIRS_MAX:
        raise CostError


def _contains(items: list[Any], part: list[Any]) -> bool:
    _check_pairs(items, part)
    return all(v.contains(items, item) for item in part)


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    _check_pairs(left, right)
    return any(v.contains(right, item) for item in left)


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    items = list_of(param("T"))
    for name, compute, factor in (
        ("contains", _contains, 1),
        ("equivalent", _equivalent, 2),
        ("intersects", _intersects, 1),
    ):

        def cost(args: Sequence[Any], _: Any, factor: int = factor) -> int:
            return 1 + len(args[0]) * len(args[1]) * factor

        yield Function(f"sets.{name}", [Overload(f"list_sets_{name}_list", (items, items), BOOL, compute)], cost=cost)
