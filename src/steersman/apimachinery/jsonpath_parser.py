r"""Parser of JSONPath templates. Upstream: ``k8s.io/client-go/util/jsonpath/parser.go``.

A path is the text of one action of a template: the parser reads ``{path}``. Its quirks are part of the API: a key in brackets is split at dots
(``['a\.b']`` is one key), keys in double quotes are no keys, and what follows a closing brace is not part of the path.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_EOF: Final = ""
_TERMINATORS: Final = frozenset(" \t\r\n.,[]$@{}")
_DICT_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)")
_NUMBER: Final = re.compile(r"[+-]?[0-9.]*")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
#: Nested unions and keys that a path may have; Go's parser has no bound.
_DEPTH_MAX: Final = 32


class JSONPathError(ValueError):
    """A malformed path, or one that cannot be evaluated for a value."""


class Field(NamedTuple):
    """Value of a key."""

    name: str


class Wildcard(NamedTuple):
    """Wildcard: all values of an object, a list or a string."""


class Recursive(NamedTuple):
    """The value and all below it."""


class Slice(NamedTuple):
    """Items of a list; ``is_index``: only that at ``start``."""

    start: int | None
    end: int | None
    step: int | None
    is_index: bool


class Union(NamedTuple):
    """Results of several paths, one after the other."""

    paths: tuple[Path, ...]


class Filter(NamedTuple):
    """Items of a list for which the comparison holds; without an operator, those where ``left`` exists."""

    left: Path
    operator: str
    right: Path


class Literal(NamedTuple):
    """A text, number or boolean."""

    #: A compiled ``float`` alone would convert integers.
    value: str | int | float | bool


class Identifier(NamedTuple):
    """A word that is no literal: an error when it is evaluated."""

    name: str


Node = Field | Wildcard | Recursive | Slice | Union | Filter | Literal | Identifier
Path = tuple[Node, ...]


def parse(path: str, *, depth: int = 0) -> Path:
    """Return the nodes of the action ``{path}``. Raises JSONPathError."""
    if depth > _DEPTH_MAX:
        raise JSONPathError("the path is nested too deeply")
    text = f"{{{path}}}"
    parser = _Parser(text, 1, depth)
    nodes = parser.action()
    at = text.find("{", parser.at)
    while at >= 0:  # further actions are not evaluated, but must be well-formed
        rest = _Parser(text, at + 1, depth)
        rest.action()
        at = text.find("{", rest.at)
    return nodes


class _Parser:
    """Reads one action."""

    def __init__(self, text: str, at: int, depth: int) -> None:
        self._text: Final = text
        self._depth: Final = depth
        #: Position of the next character.
        self.at = at

    def _peek(self) -> str:
        return self._text[self.at] if self.at < len(self._text) else _EOF

    def action(self) -> Path:
        """Read up to the closing brace."""
        nodes: list[Node] = []
        while True:
            if self._text.startswith("[?(", self.at):
                nodes.append(self._filter())
                continue
            if self._text.startswith("..", self.at):
                self._recursive(nodes)
                continue
            char = self._peek()
            if char == "}":
                self.at += 1
                return tuple(nodes)
            if char in (_EOF, "\r", "\n"):
                raise JSONPathError("unclosed action")
            self._node(char, nodes)

    def _node(self, char: str, nodes: list[Node]) -> None:
        if char in " @$":
            self.at += 1
        elif char == "[":
            nodes += self._array()
        elif char in "\"'":
            nodes.append(Literal(self._quoted(char)))
        elif char == ".":
            self.at += 1
            nodes.append(self._field())
        elif char in "+-" or char.isdecimal():
            nodes.append(Literal(self._number()))
        elif char == "_" or char.isalpha():
            word = self._word()
            nodes.append(Literal(word == "true") if word in ("true", "false") else Identifier(word))
        else:
            raise JSONPathError(f"unrecognized character in action: {_code_point(char)}")

    def _recursive(self, nodes: list[Node]) -> None:
        if nodes and isinstance(nodes[-1], Recursive):
            raise JSONPathError("invalid multiple recursive descent")
        self.at += 2
        nodes.append(Recursive())
        char = self._peek()
        if char == "_" or char.isalnum():
            nodes.append(self._field())

    def _field(self) -> Node:
        start = self.at
        while (char := self._peek()) and char not in _TERMINATORS:
            self.at += 2 if char == "\\" else 1
        self.at = min(self.at, len(self._text))
        name = self._text[start : self.at]
        return Wildcard() if name == "*" else Field(name.replace("\\", ""))

    def _word(self) -> str:
        start = self.at
        while (char := self._peek()) and char not in _TERMINATORS:
            self.at += 1
        return self._text[start : self.at]

    def _number(self) -> int | float:
        match = _NUMBER.match(self._text, self.at)
        text = match[0] if match else ""
        self.at += len(text)
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        raise JSONPathError(f"cannot parse number {text}")

    def _array(self) -> Path:
        end = self._text.find("]", self.at)
        text = self._text[self.at + 1 : end]
        if end < 0 or "\n" in text:
            raise JSONPathError("unterminated array")
        self.at = end + 1
        parts = text.split(",")
        if len(parts) > 1:
            return (Union(tuple(parse(f"[{part.strip(' ')}]", depth=self._depth + 1) for part in parts)),)
        key = _DICT_KEY.fullmatch(text)
        if key is not None:
            return parse(f".{key[1]}", depth=self._depth + 1)
        return (_slice(":" if text == "*" else text),)

    def _filter(self) -> Filter:
        self.at += 3
        start, quote, is_closed = self.at, "", False
        while True:
            char = self._peek()
            if char in (_EOF, "\n"):
                raise JSONPathError("unterminated filter")
            self.at += 1
            if char in "\"'":
                if not quote:
                    quote = char
                elif char == quote and self._text[self.at - 2] != "\\":
                    is_closed = True
            elif char == ")" and bool(quote) == is_closed:
                break
        if self._peek() != "]":
            raise JSONPathError("unclosed array expect ]")
        text = self._text[start : self.at - 1]
        self.at += 1
        match = _COMPARISON.fullmatch(text)
        if match is None:
            return Filter(parse(text, depth=self._depth + 1), "", ())
        left, right = (parse(match[number], depth=self._depth + 1) for number in (1, 3))
        return Filter(left, match[2], right)

    def _quoted(self, quote: str) -> str:
        start = self.at + 1
        self.at = start
        while True:
            char = self._peek()
            if char in (_EOF, "\n"):
                raise JSONPathError("unterminated quoted string")
            self.at += 1
            if char == quote and self._text[self.at - 2] != "\\":
                return _unquote(self._text[start : self.at - 1], quote)


def _code_point(char: str) -> str:
    """Format a character as Go's ``%#U`` does."""
    return f"U+{ord(char):04X}" + (f" '{char}'" if char.isprintable() else "")


def _slice(text: str) -> Slice:
    match = _SLICE.fullmatch(text)
    if match is None or "-" in (match[1], (match[2] or "")[1:], (match[3] or "")[1:]):
        raise JSONPathError(f"invalid array index {text}")
    start, end, step = (int(part.removeprefix(":")) if part and part != ":" else None for part in match.groups())
    return Slice(start, end, step, is_index=match[2] is None)


def _unquote(text: str, quote: str) -> str:
    """Resolve Go's simple escapes, those of the quote and of code points."""
    fault = f"unquote string {quote}{text}{quote} error invalid syntax"
    if "\\" not in text:
        return text

    def resolve(match: re.Match[str]) -> str:
        escape = match[1]
        if escape in _ESCAPES or escape == quote:
            return _ESCAPES.get(escape, escape)
        if len(escape) > 1:
            return chr(int(escape[1:], 16))
        raise JSONPathError(fault)

    try:
        return re.sub(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.|$)", resolve, text)
    except (ValueError, OverflowError):
        raise JSONPathError(fault) from None
