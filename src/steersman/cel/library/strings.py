"""cel-go's string extension, version 2: ``charAt``, ``split``, ``replace``, ``join``, ``quote``, ``format``, …"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import ESCAPES
from steersman.cel.functions import Function, Overload, member
from steersman.cel.library.formatting import format_text
from steersman.cel.standard import tenth
from steersman.cel.types import DYN, INT, STRING, list_of
from steersman.cel.values import CostError, EvalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STRINGS: Final = list_of(STRING)
_RESULT_MAX: Final = 10_000_000
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
#: White space of Go's ``strings.TrimSpace`` and of the extension.
_SPACES: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"


def _out_of_range(position: int) -> EvalError:
    return EvalError(f"index out of range: {position}")


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise _out_of_range(position)
    return text[position : position + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if part == "":
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if part == "":
        return len(text) if last is None else last
    if last is None:
        last = len(text) - 1
    if last < 0:
        raise _out_of_range(last)
    return text.rfind(part, 0, last + len(part)) if last < len(text) else -1


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    occurrences = text.count(old) if old else len(text) + 1
    times = occurrences if count < 0 else min(occurrences, count)
    if len(text) + times * len(new) > _RESULT_MAX:
        raise CostError
    return text.replace(old, new, times)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if count == 1:
        return [text]
    if separator == "":
        chars = list(text)
        return chars if count < 0 or len(chars) <= count else [*chars[: count - 1], text[count - 1 :]]
    return text.split(separator, -1 if count < 0 else count - 1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        if not 0 <= start <= len(text):
            raise _out_of_range(start)
        return text[start:]
    if start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if not 0 <= end <= len(text):
        raise _out_of_range(end)
    return text[start:end]


def _join(items: list[Any], separator: str = "") -> str:
    if not all(isinstance(item, str) for item in items):
        raise EvalError("no such overload")
    if sum(map(len, items)) + len(separator) * len(items) > _RESULT_MAX:
        raise CostError
    return separator.join(items)


def _trim(text: str) -> str:
    return text.strip(_SPACES)


def _lower(text: str) -> str:
    return text.translate(_LOWER)


def _upper(text: str) -> str:
    return text.translate(_UPPER)


def _quote(text: str) -> str:
    return f'"{"".join(ESCAPES.get(char, char) for char in text)}"'


def _format(text: str, args: list[Any]) -> str:
    return format_text(text, args)


def _walk(args: Sequence[Any], _: Any) -> int:
    return tenth(len(args[0])) if isinstance(args[0], (str, list)) else 1


def _walk_twice(args: Sequence[Any], _: Any) -> int:
    return tenth(2 * len(args[0]))


def _result_twice(_: Sequence[Any], result: Any) -> int:
    return tenth(2 * len(result))


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    yield Function("charAt", [member("string_char_at_int", (STRING, INT), STRING, _char_at)])
    for name, compute in (("indexOf", _index_of), ("lastIndexOf", _last_index_of)):
        label = "index_of" if name == "indexOf" else "last_index_of"
        one = member(f"string_{label}_string", (STRING, STRING), INT, compute)
        two = member(f"string_{label}_string_int", (STRING, STRING, INT), INT, compute)
        yield Function(name, [one, two], cost=_walk)
    for name, change in (("lowerAscii", _lower), ("upperAscii", _upper), ("trim", _trim)):
        yield Function(name, [member(f"string_{name}", (STRING,), STRING, change)], cost=_walk)
    yield Function(
        "replace",
        [
            member("string_replace_string_string", (STRING, STRING, STRING), STRING, _replace),
            member("string_replace_string_string_int", (STRING, STRING, STRING, INT), STRING, _replace),
        ],
        cost=_walk_twice,
    )
    yield Function(
        "split",
        [
            member("string_split_string", (STRING, STRING), _STRINGS, _split),
            member("string_split_string_int", (STRING, STRING, INT), _STRINGS, _split),
        ],
        cost=_walk_twice,
    )
    yield Function(
        "substring",
        [
            member("string_substring_int", (STRING, INT), STRING, _substring),
            member("string_substring_int_int", (STRING, INT, INT), STRING, _substring),
        ],
        cost=_walk,
    )
    yield Function(
        "join",
        [
            member("list_join", (_STRINGS,), STRING, _join),
            member("list_join_string", (_STRINGS, STRING), STRING, _join),
        ],
        cost=_result_twice,
    )
    yield Function("format", [member("string_format", (STRING, list_of(DYN)), STRING, _format)], cost=_walk)
    yield Function("strings.quote", [Overload("strings_quote", (STRING,), STRING, _quote)], cost=_walk)
