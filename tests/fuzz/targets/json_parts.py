"""Decoding part by part, with parts of any size: the tree and the errors of decoding at once."""

from __future__ import annotations

import json

import msgspec

from steersman.apimachinery.json_parts import decode_in_parts

TOKENS = (b"{", b"}", b"[", b"]", b'"', b":", b",", b"null", b"\\", b'\\"', b"\\\\", b'"a":', b'"a":[', b'{"":', b"1e400", b"\\ud800", b"\xff", b" ")  # fmt: skip


def run(data: bytes) -> None:
    if not data:
        return
    part_bytes, raw = 1 + data[0], data[1:]
    try:
        tree = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _check_rejected(raw, part_bytes)
        return
    in_parts = decode_in_parts(raw, part_bytes=part_bytes)
    assert json.dumps(in_parts) == json.dumps(tree), (in_parts, tree)


def _check_rejected(raw: bytes, part_bytes: int) -> None:
    try:
        tree = decode_in_parts(raw, part_bytes=part_bytes)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    raise AssertionError(f"decoded in parts only: {tree!r}")
