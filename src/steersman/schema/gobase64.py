"""Base64 as Go's `encoding/base64` decodes it into `[]byte`: line breaks are skipped, errors name a byte."""

from __future__ import annotations

import binascii
import string
from typing import Final

_ALPHABET: Final = frozenset((string.ascii_letters + string.digits + "+/").encode())
_PAD: Final = ord("=")
_NEWLINES: Final = b"\r\n"


def normalize(text: str) -> str:
    """Return the canonical encoding. Raises ValueError with Go's text for malformed base64."""
    data = text.encode(errors="surrogatepass")
    try:
        raw = binascii.a2b_base64(data, strict_mode=True)
    except binascii.Error:
        index = _first_corrupt_byte(data)
        if index is not None:
            raise ValueError(f"illegal base64 data at input byte {index}") from None
        raw = binascii.a2b_base64(data)
    return binascii.b2a_base64(raw, newline=False).decode()


def _first_corrupt_byte(data: bytes) -> int | None:
    """Return the position where Go's decoder stops, None if it does not: it works in groups of four."""
    position = 0
    while True:
        count = 0
        while count < 4:
            position = _skip_newlines(data, position)
            if position == len(data):
                # The rest of an unfinished group counts from its start.
                return None if count == 0 else position - count
            byte = data[position]
            position += 1
            if byte in _ALPHABET:
                count += 1
                continue
            if byte != _PAD or count < 2:
                return position - 1
            return _after_padding(data, position, count=count)


def _after_padding(data: bytes, position: int, *, count: int) -> int | None:
    """Return the error position after the padding.

    `position` is behind a first `=` after `count` characters of a group.
    """
    if count == 2:
        position = _skip_newlines(data, position)
        if position == len(data):
            return len(data)
        if data[position] != _PAD:
            return position - 1
        position += 1
    position = _skip_newlines(data, position)
    return None if position == len(data) else position


def _skip_newlines(data: bytes, position: int) -> int:
    while position < len(data) and data[position] in _NEWLINES:
        position += 1
    return position
