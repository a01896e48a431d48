"""CBOR decoding: raises DecodeError only; what it decodes is written as CBOR and JSON and read back unchanged."""

from __future__ import annotations

from steersman.apimachinery.cbor import NESTED_LEVELS_MAX, decode, encode
from steersman.apimachinery.codec import DecodeError, decode_json, depth_of
from steersman.apimachinery.codec import encode as encode_json

TOKENS = (b"\xd9\xd9\xf7", b"\xa1", b"\xa2", b"\xbf", b"\x9f", b"\xff", b"\x5f", b"\x7f", b"\x44kind", b"\x63Pod", b"\xd6\x42hi", b"\xd5", b"\xd7",
          b"\xc0\x741970-01-01T00:00:00Z", b"\xc1\x00", b"\xc2\x41\x01", b"\xf6", b"\xf7", b"\xf9\x3c\x00", b"\xf9\x7e\x00", b"\x1b", b"\x3b",
          b"\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00", b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", b"\x81", b"\x80", b"\xa0")  # fmt: skip


def run(data: bytes) -> None:
    try:
        tree = decode(data)
    except DecodeError:
        return
    assert depth_of(tree) <= NESTED_LEVELS_MAX
    written = encode(tree)
    assert decode(written) == tree
    assert encode(decode_json(encode_json(tree))) == written
