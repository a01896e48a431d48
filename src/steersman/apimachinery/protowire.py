"""Protobuf's wire format (https://protobuf.dev/programming-guides/encoding).

Fields are encoded as bytes to be joined. Zero values are omitted, as in proto3; readers take an absent field for zero.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Wire types.
VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5


#: The bytes of 7 bits each that end a varint, and those that others follow.
_LAST: Final = [bytes((bits,)) for bits in range(0x80)]
_FOLLOWED: Final = [bytes((bits | 0x80,)) for bits in range(0x80)]


def varint(number: int) -> bytes:
    """Encode base-128, least significant group first; negative numbers as 64-bit two's complement."""
    number &= 0xFFFFFFFFFFFFFFFF
    raw = b""
    while number > 0x7F:
        raw += _FOLLOWED[number & 0x7F]
        number >>= 7
    return raw + _LAST[number]


def length_delimited(number: int, payload: bytes) -> bytes:
    """Encode a message, string or bytes, even if empty."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def string(number: int, value: str) -> bytes:
    """Encode a string; omitted if empty."""
    return length_delimited(number, value.encode()) if value else b""


def boolean(number: int, value: bool) -> bytes:  # noqa: FBT001 — a field's value, not an option
    """Encode a boolean; omitted if false."""
    return varint(number << 3) + b"\x01" if value else b""


def integer(number: int, value: int) -> bytes:
    """Encode an int32 or int64; omitted if 0."""
    return varint(number << 3) + varint(value) if value else b""


def double(number: int, value: float) -> bytes:
    """Encode a double, always."""
    return varint(number << 3 | 1) + struct.pack("<d", value)


def wire_fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield numbers and values of the fields of a message, in order. Raises DecodeError."""
    at, end = 0, len(raw)
    while at < end:
        key, at = read_varint(raw, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(raw, at)
            yield number, value
            continue
        if wire == BYTES:
            size, at = read_varint(raw, at)
        else:
            size = fixed_size(wire)
        if at + size > end:
            raise DecodeError("unexpected EOF")
        yield number, raw[at : at + size]
        at += size


def fixed_size(wire: int) -> int:
    """Return the size of a value of wire type ``FIXED64`` or ``FIXED32``. Raises DecodeError for any other."""
    if wire == FIXED64:
        return 8
    if wire == FIXED32:
        return 4
    raise DecodeError(f"proto: illegal wireType {wire}")


def read_varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return the number at a position, 64 bits without a sign, and the position after it. Raises DecodeError."""
    if at < len(raw) and raw[at] < 0x80:
        return raw[at], at + 1
    value = shift = 0
    while True:
        if at >= len(raw):
            raise DecodeError("unexpected EOF")
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        if shift >= 64:
            raise DecodeError("proto: integer overflow")
