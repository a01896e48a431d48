"""Decoding part by part gives what one call of the decoder gives."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steersman.apimachinery import codec
from steersman.apimachinery.json_parts import PARTS_BYTES, decode_in_parts
from steersman.apimachinery.workmeter import Interruption, metered

TEXTS = st.text(alphabet='a,"\\:{}[]é', max_size=5)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=40,
)


def order_of(tree: Any) -> str:
    """Return a text that depends on the order of keys."""
    return json.dumps(tree)


@given(TREES, st.integers(1, 40), st.sampled_from([None, 1]))
def test_decode_in_parts_equals_decoding_at_once(tree: Any, part_bytes: int, indent: int | None) -> None:
    raw = json.dumps(tree, indent=indent).encode()
    assert order_of(decode_in_parts(raw, part_bytes=part_bytes)) == order_of(tree)


@pytest.mark.parametrize("part_bytes", range(1, 40))
@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":1,"b":2,"a":[1,2,{"b":3,"b":[4,5]}],"c":6}',  # the open member is not the last key
        b'{"a":{"a":[1,2,3]},"b":1,"a":[4,5,6],"a":7}',  # an open member is replaced
        b'{"":[1,[2,3],{"":[4,5]}],"":[]}',
        rb'{"\\":"\"","\"":"\\\",\\",",":["\\\\",",\""]}',
        b'["' + b"a" * 100 + b'",1,2]',
        b" 1 ",
    ],
)
def test_decode_in_parts_keeps_duplicate_keys_and_escapes(raw: bytes, part_bytes: int) -> None:
    assert order_of(decode_in_parts(raw, part_bytes=part_bytes)) == order_of(msgspec.json.decode(raw))


@given(
    st.lists(st.sampled_from(["{", "}", "[", "]", '"', ",", ":", "1", '"a"', "\\", " "]), max_size=25),
    st.integers(1, 9),
)
@example(["[", "1", ",", "]"], 1)
@example(["{", '"a"', ":", "1", ",", "}"], 1)
def test_decode_in_parts_rejects_what_the_decoder_rejects(tokens: list[str], part_bytes: int) -> None:
    raw = "".join(tokens).encode()
    try:
        tree = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        with pytest.raises(msgspec.DecodeError):
            decode_in_parts(raw, part_bytes=part_bytes)
    else:
        assert decode_in_parts(raw, part_bytes=part_bytes) == tree


@pytest.mark.parametrize("opener", [b"[", b'{"a":', b'{"a,":[1,'])
def test_decode_json_rejects_deep_nesting_of_large_texts(opener: bytes) -> None:
    with pytest.raises(codec.DecodeError, match="exceeded max depth"):
        codec.decode_json(opener * (PARTS_BYTES // len(opener) + 1))


class RecordingMeter(Interruption):
    def __init__(self) -> None:
        super().__init__()
        self.units: list[int] = []

    def spend(self, units: int) -> None:
        self.units.append(units)


def test_decode_json_charges_large_texts_part_by_part() -> None:
    meter = RecordingMeter()
    raw = json.dumps({"data": {f"k{number}": "v" for number in range(100_000)}}).encode()
    with metered(meter):
        assert len(codec.decode_json(raw)["data"]) == 100_000
    assert len(meter.units) > len(raw) // PARTS_BYTES
    assert max(meter.units) * 32 <= PARTS_BYTES
