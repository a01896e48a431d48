"""Writing protobuf's wire format (https://protobuf.dev/programming-guides/encoding): fields as bytes, to be joined.

Zero values are left out, as proto3 does; readers take an absent field for zero.
"""

from __future__ import annotations

import struct


def varint(number: int) -> bytes:
    """Base-128, least significant group first; negative numbers as 64-bit two's complement."""
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
    """A message, a text or bytes; written even when empty."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def string(number: int, value: str) -> bytes:
    """A text, left out when empty."""
    return length_delimited(number, value.encode()) if value else b""


def boolean(number: int, value: bool) -> bytes:  # noqa: FBT001 — a field's value, not an option
    """A boolean, left out when false."""
    return varint(number << 3) + b"\x01" if value else b""


def integer(number: int, value: int) -> bytes:
    """An int32 or int64, left out when 0."""
    return varint(number << 3) + varint(value) if value else b""


def double(number: int, value: float) -> bytes:
    """A double; always written."""
    return varint(number << 3 | 1) + struct.pack("<d", value)
