"""JSON decoding: agrees with the standard library, survives encoding, raises DecodeError only."""

from __future__ import annotations

import json
import math

from steersman.apimachinery.codec import (
    DecodeError,
    decode_json,
    decode_json_exactly,
    duplicate_field_messages,
    encode,
    may_hide_keys,
    prettify,
)
from steersman.apimachinery.gotext import to_json, to_value_text

TOKENS = (b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"true", b"false", b"1e400", b"-0", b"\\u003a", b"\\ud800", b"\\udc00",
          b'"a":', b"1.0", b"9223372036854775808", b"\xff", b"\xef\xbb\xbf", b"NaN")  # fmt: skip


def run(data: bytes) -> None:
    try:
        tree = decode_json(data)
    except DecodeError:
        _refuse_exactly(data)
        return
    again = decode_json(encode(tree))
    assert _same(again, tree), (again, tree)
    assert _same(decode_json(prettify(encode(tree))), tree)
    assert decode_json_exactly(data) == tree
    assert _same(json.loads(to_json(tree)), tree)
    to_value_text(tree)
    messages = duplicate_field_messages(data, tree)
    assert not messages or may_hide_keys(data, tree), messages
    assert duplicate_field_messages(encode(tree), tree) == []


def _refuse_exactly(data: bytes) -> None:
    """Check that both decoders reject the same texts."""
    try:
        tree = decode_json_exactly(data)
    except DecodeError:
        return
    raise AssertionError(f"only one decoder accepts it: {tree!r}")


def _same(left: object, right: object) -> bool:
    """Compare trees as JSON does: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, float) and isinstance(right, float):
        return math.copysign(1, left) == math.copysign(1, right) and left == right
    return left == right
