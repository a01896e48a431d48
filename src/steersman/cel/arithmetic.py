"""Arithmetic and comparison operators. Overflow is an error, as in Go."""

from __future__ import annotations

import math
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Final

from steersman.cel import values as v
from steersman.cel.subtypes import MapList, SetList, UInt
from steersman.cel.values import Duration, EvalError, Opaque, Timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

#: Maximum length of concatenated lists and strings, independent of the cost limit.
_SIZE_MAX: Final = 10_000_000


def to_int(value: int) -> int:
    """Return ``value`` as an int64. Raises EvalError on overflow."""
    if not v.INT_MIN <= value <= v.INT_MAX:
        raise EvalError("integer overflow")
    return value


def to_uint(value: int) -> UInt:
    """Return ``value`` as a uint64. Raises EvalError on overflow."""
    if not 0 <= value <= v.UINT_MAX:
        raise EvalError("unsigned integer overflow")
    return UInt(value)


def no_overload(function: str, *args: Any) -> EvalError:
    """Return the error for argument types without an overload.

    cel-go names the function only if the first operand neither implements the operation nor is a receiver, i.e. a string,
    timestamp or duration. Upstream: ``evalUnary`` and ``evalBinary``.
    """
    name = v.type_name(args[0]) if args else ""
    if name in _RECEIVERS or name in _IMPLEMENTING.get(function, ()):
        return EvalError("no such overload")
    return EvalError(f"no such overload: {function}")


_NUMBERS: Final = ("int", "uint", "double")
_RECEIVERS: Final = ("string", "google.protobuf.Timestamp", "google.protobuf.Duration")
#: Types that implement an operation, if not for all types of the other operand.
_IMPLEMENTING: Final = {
    "_+_": (*_NUMBERS, "bytes", "list"),
    "_-_": _NUMBERS,
    "_*_": _NUMBERS,
    "_/_": _NUMBERS,
    "_%_": ("int", "uint"),
    "-_": ("bool",),
    "_<_": (*_NUMBERS, "bytes", "bool"),
    "_<=_": (*_NUMBERS, "bytes", "bool"),
    "_>_": (*_NUMBERS, "bytes", "bool"),
    "_>=_": (*_NUMBERS, "bytes", "bool"),
}


def add(left: Any, right: Any) -> Any:
    """Evaluate ``+``."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return to_int(left + right)
        if kind in (str, bytes, list):
            if len(left) + len(right) > _SIZE_MAX:
                raise v.CostError
            return left + right
        if kind is float:
            return left + right
        if kind is UInt:
            return to_uint(int(left) + int(right))
        if kind is Duration:
            return Duration(left.nanos + right.nanos)
    if isinstance(left, list) and isinstance(right, list):
        return _add_lists(left, right)
    if isinstance(left, (Timestamp, Duration)) and isinstance(right, (Timestamp, Duration)) and kind is not Timestamp:
        return Timestamp(left.nanos + right.nanos)
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return Timestamp(left.nanos + right.nanos)
    raise no_overload("_+_", left, right)


def _add_lists(left: list[Any], right: list[Any]) -> list[Any]:
    """Concatenate lists; set and map lists merge as in server-side apply."""
    if isinstance(left, SetList):
        left_keys = {v.freeze(item) for item in left}
        return SetList([*left, *(item for item in right if v.freeze(item) not in left_keys)])
    if isinstance(left, MapList):
        keys = left.keys
        others = {v.item_key(item, keys): item for item in right}
        joined = [others.pop(v.item_key(item, keys), item) for item in left]
        return MapList([*joined, *others.values()], keys)
    return [*left, *right]


def subtract(left: Any, right: Any) -> Any:
    """Evaluate ``-``."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is int:
            return to_int(left - right)
        if kind is float:
            return left - right
        if kind is UInt:
            return to_uint(int(left) - int(right))
        if kind in (Duration, Timestamp):
            return Duration(left.nanos - right.nanos)
    if kind is Timestamp and other is Duration:
        return Timestamp(left.nanos - right.nanos)
    raise no_overload("_-_", left, right)


def multiply(left: Any, right: Any) -> Any:
    """Evaluate ``*``."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return to_int(left * right)
        if kind is float:
            return left * right
        if kind is UInt:
            return to_uint(int(left) * int(right))
    raise no_overload("_*_", left, right)


def divide(left: Any, right: Any) -> Any:
    """Evaluate ``/``; integer division truncates towards zero."""
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return _divide_floats(left, right)
        if kind in (int, UInt):
            if right == 0:
                raise EvalError("division by zero")
            quotient = abs(left) // abs(right)
            signed = quotient if (left < 0) == (right < 0) else -quotient
            return to_int(signed) if kind is int else UInt(signed)
    raise no_overload("_/_", left, right)


def _divide_floats(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def remainder(left: Any, right: Any) -> Any:
    """Evaluate ``%``; the result has the sign of the left operand."""
    kind = type(left)
    if kind is type(right) and kind in (int, UInt):
        if right == 0:
            raise EvalError("modulus by zero")
        rest = abs(left) % abs(right)
        if left == v.INT_MIN and right == -1:
            raise EvalError("integer overflow")
        return UInt(rest) if kind is UInt else -rest if left < 0 else rest
    raise no_overload("_%_", left, right)


def negate(value: Any) -> Any:
    """Evaluate unary ``-``."""
    if type(value) is int:
        return to_int(-value)
    if isinstance(value, float):
        return -value
    raise no_overload("-_", value)


def comparison(function: str, fits: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return the implementation of a comparison operator for all ordered types."""

    def compare(left: Any, right: Any) -> bool:
        kind, other = type(left), type(right)
        if kind is other and kind in _ORDERED:
            return bool(fits(left, right))
        if v.is_number(left) and v.is_number(right):
            if math.isnan(left) or math.isnan(right):
                raise EvalError("NaN values cannot be ordered")
            return bool(fits(left, right))
        if kind is other and kind in (Timestamp, Duration):
            return bool(fits(left.nanos, right.nanos))
        raise no_overload(function, left, right)

    return compare


_ORDERED: Final = (int, str, bytes, bool, UInt)
less = comparison("_<_", lt)
less_or_equal = comparison("_<=_", le)
greater = comparison("_>_", gt)
greater_or_equal = comparison("_>=_", ge)


def is_in(value: Any, container: Any) -> bool:
    """Evaluate ``in`` for lists and map keys."""
    if isinstance(container, list):
        return v.contains(container, value)
    if isinstance(container, dict):
        try:
            return value in container
        except TypeError:
            raise EvalError(f"unsupported key type: {v.type_name(value)}") from None
    raise EvalError("no such overload")


def index(container: Any, key: Any) -> Any:
    """Evaluate ``container[key]``."""
    if isinstance(container, dict):
        return v.lookup(container, key)
    if isinstance(container, list):
        return v.index(container, key)
    if isinstance(container, v.Optional):
        return optional_index(container, key)
    raise v.missing_key(key)


def optional_index(container: Any, key: Any) -> v.Optional:
    """Evaluate ``container[?key]``; empty if the key is missing."""
    if isinstance(container, v.Optional):
        if not container.has_value:
            return v.NONE
        container = container.value
    if isinstance(container, dict):
        missing = object()
        value = container.get(key, missing)
        return v.NONE if value is missing else v.Optional(value)
    if isinstance(container, list) and type(key) in (int, UInt, float):
        try:
            return v.Optional(v.index(container, key))
        except EvalError:
            return v.NONE
    return v.NONE


def size(value: Any) -> int:
    """Return the number of code points, bytes, items or entries."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise no_overload("size", value)


def cost_size(value: Any) -> int:
    """Return the size of a value for cost accounting."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    return int(getattr(value, "cost_size", 1)) if isinstance(value, Opaque) else 1
