"""JSON bodies to trees and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery import codec
from steersman.apimachinery.codec import DecodeError

TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(TREES)
def test_decode_json_restores_an_encoded_tree(tree: Any) -> None:
    assert codec.decode_json(codec.encode(tree)) == tree


def test_decode_json_keeps_floats() -> None:
    assert [type(value) for value in codec.decode_json(b"[2.0, 1e1, 2]")] == [float, float, int]


def test_decode_json_keeps_integers_beyond_64_bits() -> None:
    assert codec.decode_json(b"[18446744073709551616, -9223372036854775809]") == [2**64, -(2**63) - 1]


def test_decode_json_keeps_the_last_value_of_a_duplicate_key() -> None:
    assert codec.decode_json(b'{"a":1,"a":2}') == {"a": 2}


def test_decode_json_accepts_null() -> None:
    assert codec.decode_json(b" null ") is None


def test_decode_json_replaces_half_surrogates() -> None:
    assert codec.decode_json(b'{"\\udc00":["a\\ud800","\\ud83d\\ude00"]}') == {"\ufffd": ["a\ufffd", "\U0001f600"]}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
        (b"-Infinity", "invalid character 'I' in numeric literal"),
        (b"1e400", "json: cannot unmarshal number 1e400 into Go value of type float64"),
        (b"1" * 5000, f"json: cannot unmarshal number {'1' * 5000} into Go value of type float64"),
        (b'{"a":"\xff"}', "invalid UTF-8 at byte 6"),
        (b"[" * 201 + b"]" * 201, "exceeded max depth"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "exceeded max depth"),
    ],
)
def test_decode_json_rejects_malformed_text(raw: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        codec.decode_json(raw)
    assert str(caught.value) == message


def test_decode_json_of_a_large_malformed_text_omits_the_position() -> None:
    with pytest.raises(DecodeError, match="malformed JSON at character 600000"):
        codec.decode_json(b"[" + b"1," * 299_999 + b"1}")


def test_decode_json_accepts_the_maximum_depth() -> None:
    assert codec.depth_of(codec.decode_json(b"[" * 200 + b"]" * 200)) == 200


def test_decode_json_exactly_keeps_the_text_of_numbers() -> None:
    tree = codec.decode_json_exactly(b'{"a":[1e1,2.0,3]}')
    assert [getattr(value, "text", None) for value in tree["a"]] == ["1e1", "2.0", None]
    assert tree == {"a": [10.0, 2.0, 3]}


@pytest.mark.parametrize(
    ("raw", "paths"),
    [
        (b'{"a":1,"b":2}', []),
        (b'{"a":1,"a":2}', ["a"]),
        (b'{"a":1,"a":2,"a":3}', ["a"]),
        (b'{"data":{"k":"v","k":"w"},"x":1,"x":1}', ["data.k", "x"]),
        (b'{"l":[0,[{"k":1,"k":2}]]}', ["l[1][0].k"]),
        (b'[{"op":1,"op":2}]', ["[0].op"]),
        (b'{"a" :1,"a":2}', ["a"]),
        (b'{"a"\n\t :1,"a":2}', ["a"]),
        (b'{"a\\\\":1,"a\\\\":2}', ["a\\"]),
        (b'{"\\u0061":1,"a":2}', ["a"]),
        (b'{"s":"\\":","t":"x :"}', []),
        (b'{"s":"\\\\\\":","t":1}', []),
        (b'{"s":"\\u0022:","t":1,"t":2}', ["t"]),
        (b'{"s":"\\"\\u003a","t":1,"t":2}', ["t"]),
    ],
)
def test_duplicate_fields_returns_paths(raw: bytes, paths: list[str]) -> None:
    assert codec.duplicate_fields(raw, codec.decode_json(raw)) == paths


@given(TREES, st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), (",\n", "\n:\t")]))
def test_duplicate_fields_is_empty_without_duplicates(tree: Any, separators: tuple[str, str]) -> None:
    raw = json.dumps(tree, separators=separators).encode()
    assert codec.duplicate_fields(raw, tree) == []


@given(st.lists(st.tuples(st.text(alphabet='a\\":', max_size=3), st.text(alphabet='\\": ', max_size=4)), max_size=5))
def test_duplicate_fields_finds_every_duplicate(pairs: list[tuple[str, str]]) -> None:
    raw = ("{" + ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in pairs) + "}").encode()
    tree = codec.decode_json(raw)
    keys = [key for key, _ in pairs]
    assert set(codec.duplicate_fields(raw, tree)) == {key for key in keys if keys.count(key) > 1}


def test_duplicate_field_messages_quote_the_path() -> None:
    assert codec.duplicate_field_messages(b'{"a":{"b":1,"b":2}}', {"a": {"b": 2}}) == ['duplicate field "a.b"']


def test_depth_of_counts_containers() -> None:
    assert codec.depth_of({"a": [{"b": 1}, {"c": {"d": None}}], "e": "x"}) == 4
    assert codec.depth_of("x") == 0


def test_encode_keeps_the_order_of_keys() -> None:
    assert codec.encode({"b": 1, "a": [True, None, "é"]}) == '{"b":1,"a":[true,null,"é"]}'.encode()


def test_prettify_indents_by_two_spaces() -> None:
    assert codec.prettify(codec.encode({"a": {}, "b": [1]})) == b'{\n  "a": {},\n  "b": [\n    1\n  ]\n}'
    assert codec.prettify(b'{"a":{}}') == b'{\n  "a": {}\n}'


def test_decode_json_replaces_half_surrogates_in_top_level_list():
    assert codec.decode_json(rb'["\ud800", ["\udc00a"]]') == ["\ufffd", ["\ufffda"]]
