"""Regular expressions as RE2 has them, by Python's ``re``: what the two do not share is refused or put another way.

Python backtracks where RE2 does not, so that nested repetition could take for ever: texts and patterns have a bound, and
a repetition within a repetition is refused beyond a smaller one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import quote
from steersman.cel.functions import Function, member
from steersman.cel.types import INT as _INT
from steersman.cel.types import STRING, list_of
from steersman.cel.values import CostError, EvalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PATTERN_MAX: Final = 10_000
#: Texts that a pattern which may backtrack without end is tried on.
_RISKY_TEXT_MAX: Final = 200
_REPEAT_MAX: Final = 1000
#: What Python reads and RE2 does not: look-around, references back, possessive and atomic parts, conditions.
_FOREIGN: Final = re.compile(r"\((?:\?[=!>]|\?<[=!]|\?\(|\?P[=>])|(?<!\\)(?:\\\\)*\\[1-9]|[*+?}]\+")
_NESTED: Final = re.compile(
    r"\((?:[^()\\]|\\.)*[*+}](?:[^()\\]|\\.)*\)(?:[*+]|\{\d*,)|\((?:[^()\\]|\\.)*\|(?:[^()\\]|\\.)*\)(?:[*+]|\{\d*,)"
)
_CLASSES: Final = {
    "[:alnum:]": "0-9A-Za-z",
    "[:alpha:]": "A-Za-z",
    "[:ascii:]": r"\x00-\x7f",
    "[:blank:]": r"\t ",
    "[:cntrl:]": r"\x00-\x1f\x7f",
    "[:digit:]": "0-9",
    "[:graph:]": "!-~",
    "[:lower:]": "a-z",
    "[:print:]": " -~",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:space:]": r"\t\n\v\f\r ",
    "[:upper:]": "A-Z",
    "[:word:]": "0-9A-Za-z_",
    "[:xdigit:]": "0-9A-Fa-f",
}
_UNICODE: Final = {
    "L": r"[^\W\d_]",
    "N": r"\d",
    "Nd": r"\d",
    "Lu": "[A-ZÀ-ÖØ-Þ]",
    "Ll": "[a-zß-öø-ÿ]",
}
_PROPERTY: Final = re.compile(r"\\p(?:\{(\w+)\}|(\w))")


class RegexError(ValueError):
    """A pattern that RE2 would not take; the text is Go's."""


class Regex:
    """A compiled pattern."""

    __slots__ = ("_pattern", "_risky")

    def __init__(self, pattern: re.Pattern[str], *, risky: bool) -> None:
        self._pattern: Final = pattern
        self._risky: Final = risky

    def on(self, text: str) -> re.Pattern[str]:
        """The pattern, to be used on that text. Raises CostError if that could take for ever."""
        if self._risky and len(text) > _RISKY_TEXT_MAX:
            raise CostError
        return self._pattern


@lru_cache(maxsize=1024)
def compile_regex(pattern: str) -> Regex:
    """Raises RegexError."""
    if len(pattern) > _PATTERN_MAX:
        raise RegexError("error parsing regexp: expression too large")
    if foreign := _FOREIGN.search(pattern):
        raise RegexError(_foreign_fault(foreign))
    translated = pattern
    for name, members in _CLASSES.items():
        translated = translated.replace(name, members)
    translated = _PROPERTY.sub(_property, translated).replace(r"\z", r"\Z").replace("(?<", "(?P<")
    translated = _dollar(translated)
    try:
        compiled = re.compile(translated, re.ASCII if "\\p" not in pattern else 0)
    except (re.error, OverflowError, RecursionError) as fault:
        raise RegexError(_go_fault(pattern, str(fault))) from None
    return Regex(compiled, risky=_NESTED.search(pattern) is not None)


def _property(match: re.Match[str]) -> str:
    name = match[1] or match[2]
    if name not in _UNICODE:
        raise RegexError(f"error parsing regexp: invalid character class range: `{match[0]}`")
    return _UNICODE[name]


def _dollar(pattern: str) -> str:
    """Python's ``$`` also matches before a last line break."""
    if "$" not in pattern or "(?m" in pattern:
        return pattern
    parts: list[str] = []
    escaped = in_class = False
    for char in pattern:
        plain = not escaped and not in_class
        parts.append(r"\Z" if char == "$" and plain else char)
        if not escaped and char in "[]":
            in_class = char == "["
        escaped = char == "\\" and not escaped
    return "".join(parts)


def _foreign_fault(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith("("):
        return f"error parsing regexp: invalid or unsupported Perl syntax: `{found}`"
    if found.lstrip("\\").isdigit():
        return f"error parsing regexp: invalid escape sequence: `\\{found[-1]}`"
    return f"error parsing regexp: invalid nested repetition operator: `{found}`"


def _go_fault(pattern: str, fault: str) -> str:
    if "unterminated subpattern" in fault:
        return f"error parsing regexp: missing closing ): `{pattern}`"
    if "unbalanced parenthesis" in fault:
        return f"error parsing regexp: unexpected ): `{pattern}`"
    if "unterminated character set" in fault:
        place = pattern.rfind("[")
        return f"error parsing regexp: missing closing ]: `{pattern[place:]}`"
    if "nothing to repeat" in fault:
        repeated = re.search(r"[*+?]", pattern)
        return f"error parsing regexp: missing argument to repetition operator: `{repeated[0] if repeated else '*'}`"
    if "bad escape (end of pattern)" in fault:
        return "error parsing regexp: trailing backslash at end of expression: ``"
    if "bad escape" in fault:
        escape = re.search(r"bad escape (\S+)", fault)
        return f"error parsing regexp: invalid escape sequence: `{escape[1] if escape else ''}`"
    if "bad character range" in fault:
        range_ = re.search(r"bad character range (\S+)", fault)
        return f"error parsing regexp: invalid character class range: `{range_[1] if range_ else ''}`"
    return f"error parsing regexp: invalid or unsupported Perl syntax: `{pattern}`"


def _compiled(pattern: str) -> Regex:
    try:
        return compile_regex(pattern)
    except RegexError as fault:
        raise EvalError(str(fault)) from None


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere."""
    return _compiled(pattern).on(text).search(text) is not None


def _find(text: str, pattern: str) -> str:
    try:
        found = compile_regex(pattern).on(text).search(text)
    except RegexError:
        raise EvalError(f"Illegal regex: {quote(pattern)}") from None
    return found[0] if found else ""


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    try:
        found = compile_regex(pattern).on(text).finditer(text)
    except RegexError:
        raise EvalError(f"Illegal regex: {quote(pattern)}") from None
    return [match[0] for position, match in enumerate(found) if count < 0 or position < count]


def cost(args: Sequence[Any], _: Any) -> int:
    """A tenth of the text times a quarter of the pattern."""
    return -(-(1 + len(args[0])) // 10) * -(-len(args[1]) // 4)


def functions() -> Iterator[Function]:
    """Kubernetes' own library (``library.Regex``)."""
    yield Function("find", [member("string_find_string", (STRING, STRING), STRING, _find)], cost=cost)
    strings = list_of(STRING)
    yield Function(
        "findAll",
        [
            member("string_find_all_string", (STRING, STRING), strings, _find_all),
            member("string_find_all_string_int", (STRING, STRING, _INT), strings, _find_all),
        ],
        cost=cost,
    )
