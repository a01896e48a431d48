"""Protobuf's wire format, with the examples of its specification."""

import pytest

from steersman.apimachinery import protowire
from steersman.apimachinery.codec import DecodeError


@pytest.mark.parametrize(
    ("number", "raw"), [(0, b"\x00"), (1, b"\x01"), (150, b"\x96\x01"), (300, b"\xac\x02"), (-1, b"\xff" * 9 + b"\x01")]
)
def test_varint_encodes_base_128(number, raw):
    assert protowire.varint(number) == raw


def test_string_is_length_delimited():
    assert protowire.string(2, "testing") == b"\x12\x07testing"


@pytest.mark.parametrize("empty", [protowire.string(1, ""), protowire.integer(1, 0), protowire.boolean(1, False)])
def test_encoders_omit_zero_values(empty):
    assert empty == b""


def test_double_is_eight_bytes_little_endian():
    assert protowire.double(1, 1.0) == b"\x09\x00\x00\x00\x00\x00\x00\xf0\x3f"


def test_wire_fields_yield_what_was_written():
    raw = (
        protowire.string(1, "a")
        + protowire.integer(2, 300)
        + protowire.double(3, 1.0)
        + protowire.length_delimited(4, b"")
    )
    assert list(protowire.wire_fields(raw)) == [(1, b"a"), (2, 300), (3, b"\x00\x00\x00\x00\x00\x00\xf0\x3f"), (4, b"")]


@pytest.mark.parametrize("raw", [b"\x0a", b"\x0a\x05ab", b"\x80", b"\x0b", b"\xff" * 11])
def test_wire_fields_reject_malformed_messages(raw):
    with pytest.raises(DecodeError):
        list(protowire.wire_fields(raw))
