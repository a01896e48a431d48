"""Parsing of numeric, string and bytes literals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.cel.subtypes import UInt
from steersman.cel.values import INT_MAX, INT_MIN, UINT_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

_ESCAPE: Final = re.compile(
    r"\\(?:(?P<plain>[abfnrtv\"'`?\\])|[xX](?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})|(?P<octal>[0-3][0-7]{2}))"
)
_PLAIN: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CODE_POINT_MAX: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


class LiteralError(ValueError):
    """A literal without a valid value; the message is cel-go's."""


def read_int(text: str) -> int:
    """Parse an int64, decimal or hexadecimal. Raises LiteralError."""
    value = _number(text)
    if not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def read_uint(text: str) -> UInt:
    """Parse a uint64 with its suffix. Raises LiteralError."""
    value = _number(text[:-1])
    if value > UINT_MAX:
        raise LiteralError("invalid uint literal")
    return UInt(value)


def read_float(text: str) -> float:
    """Parse a double. Raises LiteralError."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise LiteralError("invalid double literal")
    return value


def _number(text: str) -> int:
    digits = text.lstrip("-")
    if len(digits) > 40:
        return UINT_MAX + 1  # out of range for every type
    value = int(digits, 0) if digits.startswith("0x") else int(digits)
    return -value if text.startswith("-") else value


def read_string(text: str) -> str:
    """Parse a string literal and resolve escapes. Raises LiteralError."""
    raw = text[0] in "rR"
    inner = _unquoted(text[1:] if raw else text)
    return inner if raw else _ESCAPE.sub(_char, inner)


def read_bytes(text: str) -> bytes:
    """Parse a bytes literal: UTF-8 text, where numeric escapes denote bytes. Raises LiteralError."""
    text = text[1:]
    raw = text[0] in "rR"
    inner = _unquoted(text[1:] if raw else text)
    if raw:
        return inner.encode()
    parts: list[bytes] = []
    place = 0
    for escape in _ESCAPE.finditer(inner):
        parts += (inner[place : escape.start()].encode(), _byte(escape))
        place = escape.end()
    return b"".join((*parts, inner[place:].encode()))


def _unquoted(text: str) -> str:
    width = 3 if text[:3] in ('"""', "'''") else 1
    return text[width:-width]


def _numbered(escape: re.Match[str]) -> int:
    digits = escape["short"] or escape["long"] or escape["byte"]
    return int(digits, 16) if digits else int(escape["octal"], 8)


def _char(escape: re.Match[str]) -> str:
    plain = escape["plain"]
    if plain:
        return _PLAIN.get(plain, plain)
    code = _numbered(escape)
    if code > _CODE_POINT_MAX or code in _SURROGATES:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _byte(escape: re.Match[str]) -> bytes:
    if escape["byte"] or escape["octal"]:
        return bytes((_numbered(escape),))
    if escape["short"] or escape["long"]:
        raise LiteralError("unable to unescape string")
    return _char(escape).encode()


#: Keyed by token name.
READERS: Final[dict[str, Callable[[str], object]]] = {
    "NUM_INT": read_int,
    "NUM_UINT": read_uint,
    "NUM_FLOAT": read_float,
    "STRING": read_string,
    "BYTES": read_bytes,
}
