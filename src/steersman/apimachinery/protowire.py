"""Encoding of protobuf's wire format (https://protobuf.dev/programming-guides/encoding).

Fields are returned as bytes to be joined. Zero values are omitted, as in proto3.
"""

from __future__ import annotations

import struct


def varint(number: int) -> bytes:
    """Encode base-128, least significant group first; negative numbers as 64-bit two's complement."""
    number &= 0xFFFFFFFFFFFFFFFF
    if number < 0x80:
        return bytes((number,))
    pieces = bytearray()
    while number > 0x7F:
        pieces.append(number & 0x7F | 0x80)
        number >>= 7
    pieces.append(number)
    return bytes(pieces)


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
