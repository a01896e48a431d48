"""Optional values: ``optional.of``, ``orValue``, ``hasValue``, … (``macros`` has the macros)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.cel.functions import Function, Overload, member
from steersman.cel.types import BOOL, list_of, optional_of, param
from steersman.cel.values import NONE, Duration, Optional, Timestamp

if TYPE_CHECKING:
    from collections.abc import Iterator


def _of(value: Any) -> Optional:
    return Optional(value)


def _of_non_zero(value: Any) -> Optional:
    zero = value is None or (isinstance(value, Duration) and not value.nanos)
    zero = zero or (isinstance(value, Timestamp) and value.nanos == Timestamp.MIN)
    empty = isinstance(value, (bool, int, float, str, bytes, list, dict)) and not value
    return NONE if zero or empty else Optional(value)


def _none() -> Optional:
    return NONE


def _value(value: Optional) -> Any:
    return value.value


def _has_value(value: Optional) -> bool:
    return value.has_value


def _or(value: Optional, other: Optional) -> Optional:
    return value if value.has_value else other


def _or_value(value: Optional, other: Any) -> Any:
    return value.value if value.has_value else other


def _unwrap(items: list[Any]) -> list[Any]:
    return [item.value for item in items if isinstance(item, Optional) and item.has_value]


def _first(items: list[Any]) -> Optional:
    return Optional(items[0]) if items else NONE


def _last(items: list[Any]) -> Optional:
    return Optional(items[-1]) if items else NONE


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    any_ = param("V")
    maybe, items, maybes = optional_of(any_), list_of(any_), list_of(optional_of(any_))
    yield Function("optional.of", [Overload("optional_of", (any_,), maybe, _of)])
    yield Function("optional.ofNonZeroValue", [Overload("optional_ofNonZeroValue", (any_,), maybe, _of_non_zero)])
    yield Function("optional.none", [Overload("optional_none", (), maybe, _none)])
    yield Function("value", [member("optional_value", (maybe,), any_, _value)])
    yield Function("hasValue", [member("optional_hasValue", (maybe,), BOOL, _has_value)])
    yield Function("or", [member("optional_or_optional", (maybe, maybe), maybe, _or)])
    yield Function("orValue", [member("optional_orValue_value", (maybe, any_), any_, _or_value)])
    yield Function("optional.unwrap", [Overload("optional_unwrap", (maybes,), items, _unwrap)])
    yield Function("unwrapOpt", [member("optional_unwrapOpt", (maybes,), items, _unwrap)])
    yield Function("first", [member("list_first", (items,), maybe, _first)])
    yield Function("last", [member("list_last", (items,), maybe, _last)])
