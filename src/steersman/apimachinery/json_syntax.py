"""Syntax errors of JSON text with the messages of Go's ``encoding/json``.

Runs only after the fast decoder rejected a body, so it favours clarity; one pass, no recursion.
"""

from __future__ import annotations

import re
from typing import Final

from steersman.apimachinery.gotext import quote

#: Message for a text that ends too early.
UNEXPECTED_END: Final = "unexpected end of JSON input"

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS: Final = re.compile(rb"[0-9]*")
_LITERALS: Final = {b"t": b"true", b"f": b"false", b"n": b"null"}


class JSONSyntaxError(ValueError):
    """Malformed JSON; the message is Go's."""


def explain(raw: bytes) -> str | None:
    """Return the first syntax error of JSON text, or ``None`` if it is well-formed."""
    try:
        _Scanner(raw).document()
    except JSONSyntaxError as error:
        return str(error)
    return None


class _Scanner:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def document(self) -> None:
        """Scan one value, followed by white space only."""
        open_brackets: list[bytes] = []
        self._value_start(open_brackets)
        while open_brackets:
            self._after_value(open_brackets)
        self._skip_space()
        if self._at < len(self._raw):
            self._fail("after top-level value")

    def _value_start(self, open_brackets: list[bytes]) -> None:
        """Read to the end of the next scalar or empty container, and push the containers opened before it."""
        while True:
            char = self._peek_after_space()
            if char == b"{":
                self._at += 1
                if self._peek_after_space() == b"}":
                    self._at += 1
                    return
                open_brackets.append(b"{")
                self._object_key()
            elif char == b"[":
                self._at += 1
                if self._peek_after_space() == b"]":
                    self._at += 1
                    return
                open_brackets.append(b"[")
            else:
                self._scalar(char)
                return

    def _after_value(self, open_brackets: list[bytes]) -> None:
        char = self._peek_after_space()
        in_object = open_brackets[-1] == b"{"
        if char == b",":
            self._at += 1
            if in_object:
                self._object_key()
            self._value_start(open_brackets)
        elif char == (b"}" if in_object else b"]"):
            self._at += 1
            open_brackets.pop()
        else:
            self._fail("after object key:value pair" if in_object else "after array element")

    def _object_key(self) -> None:
        if self._peek_after_space() != b'"':
            self._fail("looking for beginning of object key string")
        self._string()
        if self._peek_after_space() != b":":
            self._fail("after object key")
        self._at += 1

    def _scalar(self, char: bytes) -> None:
        if char == b'"':
            self._string()
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        elif char == b"-" or char.isdigit():
            self._number()
        else:
            self._fail("looking for beginning of value")

    def _literal(self, word: bytes) -> None:
        for expected in word:
            if self._peek()[0] != expected:
                self._fail(f"in literal {word.decode()} (expecting {_char_text(expected)})")
            self._at += 1

    def _number(self) -> None:
        if self._peek() == b"-":
            self._at += 1
            if not self._peek().isdigit():
                self._fail("in numeric literal")
        if self._peek() == b"0":
            self._at += 1
        else:
            self._skip_digits()
        if self._raw[self._at : self._at + 1] == b".":
            self._at += 1
            if not self._peek().isdigit():
                self._fail("after decimal point in numeric literal")
            self._skip_digits()
        if self._raw[self._at : self._at + 1] in (b"e", b"E"):
            self._at += 1
            if self._peek() in (b"+", b"-"):
                self._at += 1
            if not self._peek().isdigit():
                self._fail("in exponent of numeric literal")
            self._skip_digits()

    def _string(self) -> None:
        self._at += 1
        while True:
            match = _PLAIN.match(self._raw, self._at)
            self._at = match.end() if match else self._at
            char = self._peek()
            if char == b'"':
                self._at += 1
                return
            if char != b"\\":
                self._fail("in string literal")
            self._at += 1
            self._escape()

    def _escape(self) -> None:
        char = self._peek()
        if char not in b'"\\/bfnrtu':
            self._fail("in string escape code")
        self._at += 1
        if char == b"u":
            for _ in range(4):
                if self._peek() not in b"0123456789abcdefABCDEF":
                    self._fail("in \\u hexadecimal character escape")
                self._at += 1

    def _skip_space(self) -> None:
        match = _SPACE.match(self._raw, self._at)
        self._at = match.end() if match else self._at

    def _skip_digits(self) -> None:
        match = _DIGITS.match(self._raw, self._at)
        self._at = match.end() if match else self._at

    def _peek_after_space(self) -> bytes:
        self._skip_space()
        return self._peek()

    def _peek(self) -> bytes:
        """Return the next byte; never empty."""
        if self._at >= len(self._raw):
            raise JSONSyntaxError(UNEXPECTED_END)
        return self._raw[self._at : self._at + 1]

    def _fail(self, context: str) -> None:
        raise JSONSyntaxError(f"invalid character {_char_text(self._peek()[0])} {context}")


def _char_text(byte: int) -> str:
    """Format a byte in single quotes; bytes beyond ASCII are printed as the code point of their value."""
    if byte == ord("'"):
        return "'\\''"
    if byte == ord('"'):
        return "'\"'"
    return f"'{quote(chr(byte))[1:-1]}'"
