"""Type conversions: ``int()``, ``string()``, ``timestamp()`` and others."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import general_float_text
from steersman.cel import times
from steersman.cel import values as v
from steersman.cel.subtypes import UInt
from steersman.cel.values import NANOS, Duration, EvalError, Timestamp, TypeValue

if TYPE_CHECKING:
    from collections.abc import Callable

_DOUBLE: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?)|nan", re.ASCII | re.IGNORECASE
)
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def to_int(value: Any) -> int:
    """Evaluate ``int()``."""
    if isinstance(value, str):
        return _parse(value, "int", v.INT_MIN, v.INT_MAX)
    if isinstance(value, float):
        return _whole(value, -(2.0**63), 2.0**63, "integer overflow")
    if isinstance(value, Timestamp):
        return value.nanos // NANOS
    if isinstance(value, Duration):
        return value.nanos
    if value > v.INT_MAX:
        raise EvalError("integer overflow")
    return int(value)


def to_uint(value: Any) -> UInt:
    """Evaluate ``uint()``."""
    if isinstance(value, str):
        return UInt(_parse(value, "uint", 0, v.UINT_MAX))
    if isinstance(value, float):
        return UInt(_whole(value, -1.0, 2.0**64, "unsigned integer overflow"))
    if value < 0:
        raise EvalError("unsigned integer overflow")
    return UInt(value)


def _whole(value: float, low: float, high: float, fault: str) -> int:
    if math.isnan(value) or not low < value < high:
        raise EvalError(fault)
    return int(value)


def _parse(text: str, target: str, low: int, high: int) -> int:
    digits = text[1:] if low < 0 and text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise times.conversion_error(target)
    value = int(text) if len(text) < 40 else high + 1
    if not low <= value <= high:
        raise times.conversion_error(target)
    return value


def to_double(value: Any) -> float:
    """Evaluate ``double()``."""
    if not isinstance(value, str):
        return float(value)
    if not _DOUBLE.fullmatch(value):
        raise times.conversion_error("double")
    number = float(value)
    if math.isinf(number) and "i" not in value.lower():
        raise times.conversion_error("double")
    return number


def to_bool(value: Any) -> bool:
    """Evaluate ``bool()``."""
    if isinstance(value, bool):
        return value
    if value not in _BOOLS:
        raise times.conversion_error("bool")
    return _BOOLS[value]


def to_bytes(value: Any) -> bytes:
    """Evaluate ``bytes()``."""
    return value.encode() if isinstance(value, str) else bytes(value)


def to_string(value: Any) -> str:
    """Evaluate ``string()``."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(int(value))
        case float():
            return general_float_text(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None
        case Timestamp():
            return times.show_timestamp(value)
        case Duration():
            return times.show_duration(value)
    return str(value)


def to_timestamp(value: Any) -> Timestamp:
    """Evaluate ``timestamp()`` of a string or of seconds."""
    if isinstance(value, Timestamp):
        return value
    return times.parse_timestamp(value) if isinstance(value, str) else Timestamp(value * NANOS)


def to_duration(value: Any) -> Duration:
    """Evaluate ``duration()`` of a string; cel-go declares integers as well, but does not convert them."""
    if isinstance(value, Duration):
        return value
    if not isinstance(value, str):
        raise EvalError("type conversion error from 'int' to 'google.protobuf.Duration'")
    return times.parse_duration(value)


def to_type(value: Any) -> TypeValue:
    """Evaluate ``type()``."""
    return TypeValue(v.type_name(value))


def to_dyn(value: Any) -> Any:
    """Evaluate ``dyn()``."""
    return value


#: Keyed by function name.
CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "int": to_int,
    "uint": to_uint,
    "double": to_double,
    "bool": to_bool,
    "bytes": to_bytes,
    "string": to_string,
    "timestamp": to_timestamp,
    "duration": to_duration,
}
