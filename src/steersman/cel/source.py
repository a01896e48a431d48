"""Source text of an expression and its issues, formatted as in cel-go."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Maximum length of an expression in code points (``parser.expressionSizeCodePointLimit``).
SIZE_MAX: Final = 100_000
#: Maximum number of reported issues; a count replaces the rest.
ISSUES_MAX: Final = 100

_WIDE_DOT, _WIDE_MARK = "\uff0e", "\uff3e"


class Issue(NamedTuple):
    """An error at a position."""

    #: Offset in code points.
    position: int
    message: str


class CelError(Exception):
    """Base class of compile and evaluation errors; the message is cel-go's."""


class CompileError(CelError):
    """Syntax or type errors of an expression."""

    def __init__(self, source: Source, issues: Sequence[Issue]) -> None:
        super().__init__(source.show_all(issues))
        self.issues: Final = tuple(issues)


class Source:
    """An expression with its line offsets."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        self._starts: Final = [0, *(place + 1 for place, char in enumerate(text) if char == "\n")]

    def place(self, position: int) -> tuple[int, int]:
        """Return the line (from 1) and column (from 0) of an offset."""
        line = bisect_right(self._starts, position)
        return line, position - self._starts[line - 1]

    def show(self, issue: Issue) -> str:
        """Format an issue with its line and a position marker."""
        if issue.position < 0:
            return f"ERROR: <input>:-1:0: {issue.message}"
        line, column = self.place(issue.position)
        if not self.text:
            return f"ERROR: <input>:1:1: {issue.message}"
        text = self.text.split("\n")[line - 1].replace("\t", " ")
        before = "".join("." if char.isascii() else _WIDE_DOT for char in text[:column].ljust(column))
        at = text[column : column + 1]
        mark = "^" if not at or at.isascii() else _WIDE_MARK
        return f"ERROR: <input>:{line}:{column + 1}: {issue.message}\n | {text}\n | {before}{mark}"

    def show_all(self, issues: Sequence[Issue]) -> str:
        """Format issues by position, at most ``ISSUES_MAX``."""
        ordered = sorted(issues[:ISSUES_MAX], key=lambda issue: issue.position)
        shown = [self.show(issue) for issue in ordered]
        if len(issues) > ISSUES_MAX:
            shown.append(f"{len(issues) - ISSUES_MAX} more errors were truncated")
        return "\n".join(shown)
