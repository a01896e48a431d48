"""Regular expressions from clients in Go's syntax, matched by RE2, with the errors of Go's ``regexp/syntax``.

RE2 takes time linear in the text. This is the only module that imports ``re2``. Differences between RE2 and Go are
listed in ``docs/compatibility.md``; an expression that cannot be compiled or decided within the bounds below is
rejected.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import re2

from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.workmeter import spend

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Bytes of a compiled program, and of the states that matching keeps. Compilation holds the interpreter lock, at about 1 µs
#: for each 16 bytes.
_PROGRAM_MAX_BYTES: Final = 1 << 20
#: Maximum characters of an expression.
_PATTERN_MAX: Final = 10_000
#: Bytes of a text times instructions of a program: what one search may cost. RE2 cannot be interrupted; in the worst case one
#: step takes 40 ns.
STEPS_MAX: Final = 1 << 28
#: Steps per unit of the work meter if RE2 cannot use its DFA.
_STEPS_PER_UNIT: Final = 16
#: Fixed cost of a compilation, in addition to that of its instructions.
_UNITS_PER_COMPILATION: Final = 100
_UNITS_PER_INSTRUCTION: Final = 4
#: Number of cached programs; in use each may take up to ``_PROGRAM_MAX_BYTES`` with its DFA.
_COMPILED_BYTES: Final = 32 << 20
_PROGRAM_BYTES: Final = 4096
_BYTES_PER_INSTRUCTION: Final = 32

_PREFIX: Final = "error parsing regexp: "
#: RE2's texts as ``regexp/syntax`` has them; the part behind the colon is the same in both.
_GO_TEXTS: Final = {
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid UTF-8": "invalid UTF-8",
    "invalid named capture group": "invalid named capture",
}
_TOO_LARGE: Final = "pattern too large"
#: Quoted text, escapes, group names and whole classes, which may contain the other alternatives literally.
_TOKEN: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\(?P<escape>.)|\(\?P?<(?P<name>[^>]*)>|\[\^?\]?(?:\[:\^?\w*:\]|\\.|[^\]\\])*\]", re.DOTALL
)
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_CAPTURE_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_LOOK_BEHIND: Final = re.compile(r"\(\?<[=!]")


class RegexpError(ValueError):
    """Expression that Go would not compile; the text is Go's."""


class RegexpCostError(Exception):
    """The text is too long for the expression."""

    def __init__(self) -> None:
        super().__init__("the text is too long for the expression")


class Regexp:
    """Compiled expression; immutable, and safe to share between threads."""

    __slots__ = ("_program", "size")

    def __init__(self, program: Any) -> None:
        self._program: Final = program
        #: Number of instructions of the program.
        self.size: Final[int] = program.programsize

    def matches(self, text: str) -> bool:
        """Report whether the expression matches anywhere in ``text``. Raises RegexpCostError."""
        return self._search(_encoded(text), 0) is not None

    def find(self, text: str) -> str:
        """Return the leftmost match, empty without one (``FindString``). Raises RegexpCostError."""
        data = _encoded(text)
        span = self._search(data, 0)
        return "" if span is None else data[span[0] : span[1]].decode(errors="replace")

    def find_all(self, text: str, count: int = -1) -> list[str]:
        """Return successive matches, at most ``count`` of them unless it is negative (``FindAllString``).

        Raises RegexpCostError.
        """
        matches: list[str] = []
        if not count:
            return matches
        data = _encoded(text)
        for start, end in self._spans(data):
            matches.append(data[start:end].decode(errors="replace"))
            if len(matches) == count:
                break
        return matches

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield matches that do not overlap; an empty match directly behind another match is skipped."""
        position, previous_end = 0, -1
        while position <= len(data) and (span := self._search(data, position)) is not None:
            start, end = span
            if end != position:
                position = end
            else:
                position += _character_length(data, position)
            if start != end or start != previous_end:
                yield span
            previous_end = end

    def _search(self, data: bytes, position: int) -> tuple[int, int] | None:
        steps = (len(data) - position) * self.size
        if steps > STEPS_MAX:
            raise RegexpCostError
        spend(1 + steps // _STEPS_PER_UNIT)
        match = self._program.search(data, position)
        if match is None:
            return None
        start, end = match.span()
        return start, end


#: Programs by their pattern.
_compiled: Final = BoundedCache[Regexp](entries_max=256, bytes_max=_COMPILED_BYTES, name="regular expressions")


def compile_regexp(pattern: str) -> Regexp:
    """Return the compiled pattern, which may be shared. Raises RegexpError."""
    compiled = _compiled.get(pattern)
    if compiled is None:
        compiled = _compile(pattern)
        _compiled.put(pattern, compiled, _PROGRAM_BYTES + len(pattern) + _BYTES_PER_INSTRUCTION * compiled.size)
    return compiled


def _compile(pattern: str) -> Regexp:
    if len(pattern) > _PATTERN_MAX:
        raise RegexpError(f"{_PREFIX}expression too large")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PROGRAM_MAX_BYTES
    spend(_UNITS_PER_COMPILATION)
    try:
        program = re2.compile(pattern.encode(), options=options)
    except UnicodeEncodeError:
        raise RegexpError(f"{_PREFIX}invalid UTF-8: `{pattern}`") from None
    except re2.error as error:
        raise RegexpError(_PREFIX + _go_text(pattern, error.args[0].decode(errors="replace"))) from None
    _refuse_re2_only(pattern)
    spend(_UNITS_PER_INSTRUCTION * program.programsize)
    return Regexp(program)


def _encoded(text: str) -> bytes:
    """Encode as UTF-8; lone surrogates become replacement characters, as in Go's JSON decoder."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def _character_length(data: bytes, position: int) -> int:
    end = position + 1
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return end - position


def _go_text(pattern: str, fault: str) -> str:
    if fault.startswith(_TOO_LARGE):
        return "expression too large"
    text, _, part = fault.partition(": ")
    if look_behind := _LOOK_BEHIND.match(part):
        # Go reads it as a name.
        start = pattern.index(look_behind[0])
        end = pattern.find(">", start)
        return f"invalid named capture: `{pattern[start : end + 1 or None]}`"
    return f"{_GO_TEXTS.get(text, text)}: `{part}`"


def _refuse_re2_only(pattern: str) -> None:
    """Raise RegexpError for syntax of RE2 that Go rejects: the escape ``C``, and group names beyond ASCII letters."""
    for token in _TOKEN.finditer(pattern):
        if token["escape"] == "C":
            raise RegexpError(f"{_PREFIX}invalid escape sequence: `\\C`")
        if token["name"] is not None and not _CAPTURE_NAME.fullmatch(token["name"]):
            raise RegexpError(f"{_PREFIX}invalid named capture: `{token[0]}`")
