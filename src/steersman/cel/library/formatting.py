"""String formatting: ``"%s is %d".format([a, b])``."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from steersman.apimachinery.gotext import float_text
from steersman.cel import times
from steersman.cel import values as v
from steersman.cel.subtypes import UInt
from steersman.cel.values import Duration, EvalError, Timestamp, TypeValue

_CLAUSE: Final = re.compile(r"%(%|(?:\.(\d+))?([a-zA-Z]))|%")
_PRECISION_MAX: Final = 1000
_RESULT_MAX: Final = 1_000_000


def format_text(text: str, args: list[Any]) -> str:
    """Substitute the formatting clauses. Raises EvalError."""
    parts: list[str] = []
    place = used = size = 0
    for clause in _CLAUSE.finditer(text):
        parts.append(text[place : clause.start()])
        place = clause.end()
        if clause[0] == "%%":
            parts.append("%")
            continue
        if clause[0] == "%":
            raise EvalError("unexpected end of string")
        if used >= len(args):
            raise EvalError(f"index {used} out of range")
        parts.append(_clause(clause[3], clause[2], args[used]))
        used += 1
        size += len(parts[-1])
        if size > _RESULT_MAX:
            raise v.CostError
    parts.append(text[place:])
    return "".join(parts)


def _clause(verb: str, precision: str | None, value: Any) -> str:
    digits = min(int(precision), _PRECISION_MAX) if precision else 6
    match verb:
        case "s":
            return _string(value)
        case "d":
            return _decimal(value)
        case "f":
            return _fixed(value, digits)
        case "e":
            return _scientific(value, digits)
        case "b":
            if not isinstance(value, int):
                raise _wrong("integers and bools can be formatted as binary", value)
            return f"{int(value):b}"
        case "o":
            if isinstance(value, bool) or not isinstance(value, int):
                raise _wrong("octal clause can only be used on integers", value)
            return f"{value:o}"
        case "x" | "X":
            return _hexadecimal(value, verb)
    raise EvalError(f'unrecognized formatting clause "{verb}"')


def _wrong(rule: str, value: Any) -> EvalError:
    return EvalError(f"error during formatting: {rule}, was given {v.type_name(value)}")


def _decimal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return _not_finite(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong("decimal clause can only be used on integers", value)
    return str(int(value))


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _fixed(value: Any, digits: int) -> str:
    if not isinstance(value, float):
        raise _wrong("fixed-point clause can only be used on doubles", value)
    return f"{value:.{digits}f}" if math.isfinite(value) else _not_finite(value)


def _scientific(value: Any, digits: int) -> str:
    if not isinstance(value, float):
        raise _wrong("scientific clause can only be used on doubles", value)
    return f"{value:.{digits}e}" if math.isfinite(value) else _not_finite(value)


def _hexadecimal(value: Any, verb: str) -> str:
    if isinstance(value, str):
        text = value.encode().hex()
    elif isinstance(value, bytes):
        text = value.hex()
    elif isinstance(value, int) and not isinstance(value, bool):
        text = f"{value:x}"
    else:
        raise _wrong("only integers, byte buffers, and strings can be formatted as hex", value)
    return text.upper() if verb == "X" else text


def _string(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case UInt() | int():
            return str(int(value))
        case float():
            return float_text(value) if math.isfinite(value) else _not_finite(value)
        case bytes():
            return value.decode(errors="replace")
        case Timestamp():
            return times.show_timestamp(value)
        case Duration():
            return times.show_duration(value)
        case TypeValue():
            return value.name
        case list() | dict():
            return _nested(value)
    raise _wrong(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        "timestamps",
        value,
    )


def _nested(value: Any) -> str:
    """Return a list or map, or a value in one, in the notation of literals."""
    match value:
        case str():
            return f'"{value}"'
        case bytes():
            return f'b"{_string(value)}"'
        case float():
            return f"{value:.6f}" if math.isfinite(value) else f'"{_not_finite(value)}"'
        case Timestamp():
            return f'timestamp("{_string(value)}")'
        case Duration():
            return f'duration("{_string(value)}")'
        case list():
            return f"[{', '.join(map(_nested, value))}]"
        case dict():
            shown = sorted((_nested(key), _nested(item)) for key, item in value.items())
            return "{" + ", ".join(f"{key}:{item}" for key, item in shown) + "}"
    return _string(value)
