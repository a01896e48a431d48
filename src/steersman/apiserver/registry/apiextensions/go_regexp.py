"""Whether Go would compile a regular expression, and what it says when not (RE2's syntax is not Python's)."""

from __future__ import annotations

import re
from typing import Final

_REPEAT: Final = re.compile(r"\{(\d+)(,(\d*))?\}")
_REPEAT_MAX: Final = 1000
#: A group's opening, up to what Go complains about: flags, a name, or neither.
_FLAGS: Final = re.compile(r"\(\?[imsU]*(?:-[imsU]+)?[:)]")
_FLAGS_SO_FAR: Final = re.compile(r"\(\?[imsU]*-?[imsU]*")
_NAMED: Final = re.compile(r"\(\?P?<(\w+)>", re.ASCII)
_NAMED_SO_FAR: Final = re.compile(r"\(\?P?<[^>]*>?")
_PUNCTUATION_END: Final = 0x80
_ESCAPES_IN_CLASS: Final = frozenset("DSWadfnrstvw")
_ESCAPES: Final = _ESCAPES_IN_CLASS | frozenset("ABbz")
_OCTAL: Final = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_HEX: Final = re.compile(r"x(?:[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]{1,8}\})")
_UNICODE_CLASS: Final = re.compile(r"[pP](?:[A-Z]|\{\^?\w+\})")
_NAMED_CLASS: Final = re.compile(r"\[:\^?\w*:\]")
_NAMED_CLASSES: Final = frozenset(
    [
        "alnum",
        "alpha",
        "ascii",
        "blank",
        "cntrl",
        "digit",
        "graph",
        "lower",
        "print",
        "punct",
        "space",
        "upper",
        "word",
        "xdigit",
    ]
)


class _FaultError(Exception):
    """The expression does not compile."""


def check_go_regexp(pattern: str) -> str:
    """Go's error, empty when the pattern is right."""
    try:
        _Reader(pattern).read()
    except _FaultError as fault:
        return f"error parsing regexp: {fault}"
    return ""


def _fault(what: str, text: str) -> _FaultError:
    return _FaultError(f"{what}: `{text}`")


class _Reader:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0
        #: Whether something stands before that an operator could repeat.
        self._repeatable = False
        #: Where the operator began that stands directly before, -1 when none does.
        self._repeat_began = -1
        self._names: set[str] = set()

    def read(self) -> None:
        pattern = self._pattern
        while self._at < len(pattern):
            began, before = self._at, self._repeat_began
            self._repeat_began = -1
            match pattern[began]:
                case "(":
                    self._open()
                case ")":
                    self._close()
                case "|":
                    self._at, self._repeatable = began + 1, False
                case "[":
                    self._at, self._repeatable = self._class(began), True
                case "\\":
                    self._at, self._repeatable = self._escape(began), True
                case "*" | "+" | "?":
                    self._repeat(began, began + 1, before)
                case "{" if found := _REPEAT.match(pattern, began):
                    self._repeat(began, found.end(), before, found)
                case _:
                    self._at, self._repeatable = began + 1, True
        if self._depth:
            raise _fault("missing closing )", pattern)

    def _open(self) -> None:
        pattern, began = self._pattern, self._at
        self._repeatable = False
        self._at += 1
        if not pattern.startswith("(?", began):
            self._depth += 1
        elif pattern.startswith(("(?P<", "(?<"), began):
            self._open_named(began)
        elif found := _FLAGS.match(pattern, began):
            self._at = found.end()
            self._depth += found[0].endswith(":")
        else:
            so_far = _FLAGS_SO_FAR.match(pattern, began)
            end = so_far.end() if so_far else began
            raise _fault("invalid or unsupported Perl syntax", pattern[began : end + 1])

    def _open_named(self, began: int) -> None:
        found = _NAMED.match(self._pattern, began)
        if found is None:
            so_far = _NAMED_SO_FAR.match(self._pattern, began)
            closed = so_far is not None and so_far[0].endswith(">")
            raise _fault("invalid named capture", so_far[0] if so_far and closed else self._pattern[began:])
        if found[1] in self._names:
            raise _fault("duplicate capture group name", found[1])
        self._names.add(found[1])
        self._at = found.end()
        self._depth += 1

    def _close(self) -> None:
        if not self._depth:
            raise _fault("unexpected )", self._pattern)
        self._depth -= 1
        self._at += 1
        self._repeatable = True

    def _repeat(self, began: int, end: int, before: int, counts: re.Match[str] | None = None) -> None:
        """An operator; a ``?`` behind it means it takes as little as it can."""
        if counts is not None:
            least = int(counts[1])
            most = least if counts[2] is None else int(counts[3]) if counts[3] else -1
            if max(least, most) > _REPEAT_MAX or 0 <= most < least:
                raise _fault("invalid repeat count", self._pattern[began:end])
        end += self._pattern.startswith("?", end)
        if before >= 0:
            raise _fault("invalid nested repetition operator", self._pattern[before:end])
        if not self._repeatable:
            raise _fault("missing argument to repetition operator", self._pattern[began:end])
        self._at, self._repeat_began = end, began

    def _escape(self, began: int, *, in_class: bool = False) -> int:
        """Where the escape sequence ends."""
        pattern, at = self._pattern, began + 1
        if at == len(pattern):
            raise _fault("trailing backslash at end of expression", "")
        char = pattern[at]
        if char == "Q" and not in_class:
            end = pattern.find("\\E", at)
            return len(pattern) if end < 0 else end + 2
        if char in "pP":
            found = _UNICODE_CLASS.match(pattern, at)
            if found is None:
                raise _fault("invalid character class range", pattern[began : at + 2])
            return found.end()
        for rule in (_HEX, _OCTAL):
            if found := rule.match(pattern, at):
                return found.end()
        punctuation = ord(char) < _PUNCTUATION_END and not char.isalnum()
        if punctuation or char in (_ESCAPES_IN_CLASS if in_class else _ESCAPES):
            return at + 1
        raise _fault("invalid escape sequence", pattern[began : at + 1])

    def _class(self, began: int) -> int:
        """Where the class of characters ends."""
        pattern = self._pattern
        at = began + 1 + pattern.startswith("^", began + 1)
        first = True
        while at < len(pattern):
            if pattern[at] == "]" and not first:
                return at + 1
            if found := _NAMED_CLASS.match(pattern, at):
                if found[0].strip("[:^]") not in _NAMED_CLASSES:
                    raise _fault("invalid character class range", found[0])
                at = found.end()
            else:
                at = self._class_range(at)
            first = False
        raise _fault("missing closing ]", pattern[began:])

    def _class_range(self, began: int) -> int:
        """One character of a class, or a range of them."""
        pattern = self._pattern
        end = self._escape(began, in_class=True) if pattern[began] == "\\" else began + 1
        if pattern.startswith("-", end) and end + 1 < len(pattern) and pattern[end + 1] != "]":
            low, high = pattern[began:end], pattern[end + 1]
            end = self._escape(end + 1, in_class=True) if high == "\\" else end + 2
            if len(low) == 1 and high != "\\" and low > high:
                raise _fault("invalid character class range", pattern[began:end])
        return end
