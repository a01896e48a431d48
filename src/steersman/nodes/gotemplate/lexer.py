"""Scanner of templates: splits a text into literal text and the tokens of actions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.nodes.gotemplate.errors import TemplateSyntaxError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Token(NamedTuple):
    """One token of an action."""

    kind: str
    text: str
    #: True if white space precedes it: ``.a .b`` are two arguments, ``.a.b`` is a chain.
    spaced: bool


class Piece(NamedTuple):
    """Literal text, or the tokens of an action, with its first line."""

    line: int
    text: str = ""
    tokens: tuple[Token, ...] | None = None


_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)|(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<raw>`[^`]*`)|(?P<number>[+-]?\d+(?:\.\d+)?\b)"""
    r"""|(?P<variable>\$\w*)|(?P<field>\.[A-Za-z_]\w*)|(?P<word>[A-Za-z_]\w*)|(?P<end>-?\}\})|(?P<sign>:=|[=|(),.])"""
)
_COMMENT: Final = re.compile(r"\{\{(- )?/\*.*?\*/( -)?\}\}", re.DOTALL)


def scan(text: str) -> Iterator[Piece]:
    """Yield the pieces, with white space trimmed beside ``{{-`` and ``-}}``. Raises TemplateSyntaxError."""
    at, trim = 0, False
    while at < len(text):
        start = text.find("{{", at)
        copied = text[at:] if start < 0 else text[at:start]
        line = text.count("\n", 0, at) + 1
        if trim:
            copied = copied.lstrip()
        if start < 0:
            if copied:
                yield Piece(line, copied)
            return
        if text.startswith("{{- ", start) or text.startswith("{{-\n", start):
            copied = copied.rstrip()
        if copied:
            yield Piece(line, copied)
        comment = _COMMENT.match(text, start)
        if comment is not None:
            at, trim = comment.end(), comment[2] is not None
            continue
        line = text.count("\n", 0, start) + 1
        tokens, at, trim = _action(text, start, line)
        yield Piece(line, tokens=tokens)


def _action(text: str, start: int, line: int) -> tuple[tuple[Token, ...], int, bool]:
    """Return the tokens of the action at ``start``, its end, and whether the white space after it is trimmed."""
    at = start + (3 if text[start + 2 : start + 4] in ("- ", "-\n") else 2)
    tokens: list[Token] = []
    spaced = False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise TemplateSyntaxError(f"line {line}: {text[at : at + 10]!r} is not understood")
        kind = match.lastgroup or ""
        at = match.end()
        if kind == "end":
            return tuple(tokens), at, match[0] != "}}"
        if kind == "space":
            spaced = True
            continue
        tokens.append(Token(kind, match[0], spaced))
        spaced = False
    raise TemplateSyntaxError(f"line {line}: unclosed action")
