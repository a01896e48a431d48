"""String formatting: ``"%s is %d".format([a, b])``, as version 2 of cel-go's string extension, in the locale ``en_US``.

Upstream: ``ext/formatting.go`` of cel-go and, for ``%f`` and ``%e``, ``golang.org/x/text/message``.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.gotext import general_float_text, quote
from steersman.cel import times
from steersman.cel import values as v
from steersman.cel.subtypes import UInt
from steersman.cel.values import Duration, EvalError, Timestamp, TypeValue

if TYPE_CHECKING:
    from collections.abc import Callable

_VERBS: Final = frozenset("sdfebxXo")
_PRECISION: Final = re.compile(r"\.([0-9]*)", re.ASCII)
_DEFAULT_PRECISION: Final = 6
_PRECISION_MAX: Final = 1000
_RESULT_MAX: Final = 1_000_000
_INFINITIES: Final = ("NaN", "Infinity", "-Infinity")
_SUPERSCRIPTS: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

#: Rules of the clauses, by verb: the start of the error message for an argument of another type.
RULES: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "o": "octal clause can only be used on integers",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
}


class Clause(NamedTuple):
    """A formatting clause: ``%.2f``."""

    verb: str
    precision: int


def interpolate(
    text: str, count: int, substitute: Callable[[Clause, int], str], *, syntax_first: bool = False
) -> tuple[str, int]:
    """Return the text with its clauses substituted, and their number.

    ``substitute`` receives a clause and the index of its argument, of which there are ``count``. Of a percent sign at the
    end, a missing argument is reported unless ``syntax_first``. Raises EvalError.
    """
    parts: list[str] = []
    place = used = size = 0
    while (percent := text.find("%", place)) >= 0:
        parts.append(text[place:percent])
        if text.startswith("%%", percent):
            parts.append("%")
            place = percent + 2
            continue
        is_end = percent + 1 == len(text)
        if used >= count and not (is_end and syntax_first):
            raise EvalError(f"index {used} out of range")
        if is_end:
            raise EvalError("unexpected end of string")
        clause, place = _parse_clause(text, percent + 1)
        parts.append(substitute(clause, used))
        used += 1
        size += len(parts[-1])
        if size > _RESULT_MAX:
            raise v.CostError
    parts.append(text[place:])
    return "".join(parts), used


def _parse_clause(text: str, start: int) -> tuple[Clause, int]:
    """Return the clause after a percent sign, and the place of the text after it. Raises EvalError."""
    precision, place = _DEFAULT_PRECISION, start
    match = _PRECISION.match(text, start)
    if match is not None:
        place = match.end()
        if place == len(text):
            raise _parse_error("error while parsing precision: could not find end of precision specifier")
        if not match[1]:
            detail = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
            raise _parse_error(f"error while parsing precision: {detail}")
        precision = min(int(match[1][:6]), _PRECISION_MAX)
    verb = text[place]
    if verb not in _VERBS:
        raise _parse_error(f'unrecognized formatting clause "{verb}"')
    return Clause(verb, precision), place + 1


def _parse_error(detail: str) -> EvalError:
    return EvalError(f"could not parse formatting clause: {detail}")


def format_text(text: str, args: list[Any]) -> str:
    """Substitute the formatting clauses. Raises EvalError."""
    return interpolate(text, len(args), lambda clause, place: _FORMATS[clause.verb](args[place], clause))[0]


def type_error(verb: str, name: str) -> EvalError:
    """Return the error for an argument of a type that the clause does not format."""
    return EvalError(f"error during formatting: {RULES[verb]}, was given {name}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _decimal(value: Any, clause: Clause) -> str:
    if not _is_integer(value):
        raise type_error(clause.verb, v.type_name(value))
    return str(int(value))


def _double(value: Any, clause: Clause) -> float:
    if value in _INFINITIES:
        return float(value)
    if not isinstance(value, float):
        raise type_error(clause.verb, v.type_name(value))
    return value


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"


def _fixed(value: Any, clause: Clause) -> str:
    double = _double(value, clause)
    return f"{double:,.{clause.precision}f}" if math.isfinite(double) else _not_finite(double)


def _scientific(value: Any, clause: Clause) -> str:
    """Format with a power of ten in superscript. As upstream, the precision of the clause has no effect: it is a width."""
    double = _double(value, clause)
    if not math.isfinite(double):
        return _not_finite(double)
    mantissa, _, exponent = f"{double:.{_DEFAULT_PRECISION}e}".partition("e")
    return f"{mantissa}\u202f\xd7\u202f10{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}"


def _binary(value: Any, clause: Clause) -> str:
    if not isinstance(value, int):
        raise type_error(clause.verb, v.type_name(value))
    return f"{int(value):b}"


def _octal(value: Any, clause: Clause) -> str:
    if not _is_integer(value):
        raise type_error(clause.verb, v.type_name(value))
    return f"{value:o}"


def _hexadecimal(value: Any, clause: Clause) -> str:
    if isinstance(value, str):
        text = value.encode().hex()
    elif isinstance(value, bytes):
        text = value.hex()
    elif _is_integer(value):
        text = f"{value:x}"
    else:
        raise type_error(clause.verb, v.type_name(value))
    return text.upper() if clause.verb == "X" else text


def _string(value: Any, clause: Clause) -> str:
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
            return general_float_text(value)
        case bytes():
            return value.decode(errors="replace")
        case Timestamp():
            return times.show_timestamp(value)
        case Duration():
            return times.show_duration(value)
        case TypeValue():
            return value.name
        case list() | dict():
            return _nested(value, clause)
    raise type_error(clause.verb, v.type_name(value))


def _nested(value: Any, clause: Clause) -> str:
    """Return a list or map, or a value in one, in the notation of literals."""
    match value:
        case str():
            return quote(value)
        case bytes():
            return f"b{quote(_string(value, clause))}"
        case float():
            return f"{value:.{_DEFAULT_PRECISION}f}" if math.isfinite(value) else f'"{general_float_text(value)}"'
        case Timestamp():
            return f"timestamp({quote(_string(value, clause))})"
        case Duration():
            return f"duration({quote(_string(value, clause))})"
        case list():
            return f"[{', '.join(_nested(item, clause) for item in value)}]"
        case dict():
            shown = sorted((_nested(key, clause), _nested(item, clause)) for key, item in value.items())
            return "{" + ", ".join(f"{key}:{item}" for key, item in shown) + "}"
        case None | int() | TypeValue():
            return _string(value, clause)
    raise EvalError(f"error during formatting: no formatting function for {v.type_name(value)}")


_FORMATS: Final[dict[str, Callable[[Any, Clause], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": _hexadecimal,
}
