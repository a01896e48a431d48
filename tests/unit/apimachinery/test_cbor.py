"""CBOR: the examples of RFC 8949, Kubernetes' restrictions, an independent decoder, and hostile input."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.cbor import (
    ELEMENTS_MAX,
    NESTED_LEVELS_MAX,
    SELF_DESCRIBED,
    decode,
    decode_map,
    decode_object,
    decode_stored,
    encode,
    encode_map,
    encode_object,
)
from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.workmeter import Allowance, WorkLimitError, metered

INTEGERS = st.integers(-(2**63), 2**63 - 1)
SCALARS = st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=40)
TREES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=5) | st.dictionaries(st.text(max_size=8), below, max_size=5)
)


@pytest.mark.parametrize(
    ("value", "hexadecimal"),
    [
        (None, "f6"),
        (False, "f4"),
        (True, "f5"),
        (0, "00"),
        (23, "17"),
        (24, "1818"),
        (1000, "1903e8"),
        (1000000, "1a000f4240"),
        (1000000000000, "1b000000e8d4a51000"),
        (2**63 - 1, "1b7fffffffffffffff"),
        (-1, "20"),
        (-1000, "3903e7"),
        (-(2**63), "3b7fffffffffffffff"),
        (1.0, "f93c00"),
        (-0.0, "f98000"),
        (1.5, "f93e00"),
        (100000.0, "fa47c35000"),
        (1.1, "fb3ff199999999999a"),
        (1.0e300, "fb7e37e43c8800759c"),
        ("", "40"),
        ("a", "4161"),
        ("ü", "42c3bc"),
        ([], "80"),
        ([1, [2, 3]], "8201820203"),
        ({}, "a0"),
        ({"b": 1, "aa": 2, "a": 3}, "a34161034162014261" + "6102"),
    ],
)
def test_encode_writes_the_shortest_form_with_sorted_keys(value, hexadecimal):
    assert encode(value).hex() == hexadecimal
    assert decode(encode(value)) == value


@pytest.mark.parametrize(
    ("value", "number"), [(2**63, 2.0**63), (-(2**63) - 1, -(2.0**63)), (10**400, sys.float_info.max)]
)
def test_encode_writes_integers_beyond_64_bits_as_floats(value, number):
    assert decode(encode(value)) == number


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_encode_rejects_numbers_without_json(value):
    with pytest.raises(ValueError, match="unsupported value"):
        encode([value])


def test_encode_object_is_self_described():
    assert encode_object({"kind": "Pod"}).startswith(SELF_DESCRIBED)
    assert decode(encode_object({"kind": "Pod"})) == {"kind": "Pod"}


def test_encode_map_takes_encoded_values():
    assert decode(encode_map((("type", encode("ADDED")), ("object", encode_object({}))))) == {
        "type": "ADDED",
        "object": {},
    }


@pytest.mark.parametrize(
    ("hexadecimal", "value"),
    [
        ("6449455446", "IETF"),
        ("4449455446", "IETF"),
        ("f90001", 5.960464477539063e-8),
        ("fa7f7fffff", 3.4028234663852886e38),
        ("5f42616241 63ff", "abc"),
        ("7f657374726561646d696e67ff", "streaming"),
        ("9fff", []),
        ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]),
        ("bf61610161629f0203ffff", {"a": 1, "b": [2, 3]}),
        ("bf4161014162f5ff", {"a": 1, "b": True}),
        ("d9d9f7d9d9f7a0", {}),
        ("d818 4161", "a"),
        ("d64568656c6c6f", "aGVsbG8="),
        ("d54568656c6c6f", "aGVsbG8"),
        ("d742abcd", "ABCD"),
        ("d6656869", None),
        ("d68241614162", ["YQ==", "Yg=="]),
        ("c074323031332d30332d32315432303a30343a30305a", "2013-03-21T20:04:00Z"),
        ("c11a514b67b0", "2013-03-21T20:04:00Z"),
        ("c1fb41d452d9ec200000", "2013-03-21T20:04:00.5Z"),
        ("c120", "1969-12-31T23:59:59Z"),
    ],
)
def test_decode_accepts_other_encodings_of_trees(hexadecimal, value):
    raw = bytes.fromhex(hexadecimal)
    if value is None:  # the head of a longer text
        with pytest.raises(DecodeError, match="unexpected EOF"):
            decode(raw)
    else:
        assert decode(raw) == value


@pytest.mark.parametrize(
    ("hexadecimal", "message"),
    [
        ("", "EOF"),
        ("18", "unexpected EOF"),
        ("44 49", "unexpected EOF"),
        ("5bffffffffffffffff", "unexpected EOF"),
        ("82 01", "unexpected EOF"),
        ("a1 4161", "unexpected EOF"),
        ("a1", "unexpected EOF"),
        ("9f", "unexpected EOF"),
        ("5f", "unexpected EOF"),
        ("c0", "unexpected EOF"),
        ("d9d9f7", "unexpected EOF"),
        ("0000", "cbor: 1 bytes of extraneous data starting at index 1"),
        ("1c", "cbor: invalid additional information 28 for type positive integer"),
        ("3f", "cbor: invalid additional information 31 for type negative integer"),
        ("df00", "cbor: invalid additional information 31 for type tag"),
        ("ff", 'cbor: unexpected "break" code'),
        ("81ff", 'cbor: unexpected "break" code'),
        ("5f6161ff", "cbor: wrong element type UTF-8 text string for indefinite-length byte string"),
        ("5f5fffff", "cbor: indefinite-length byte string chunk is not definite-length"),
        ("61ff", "cbor: invalid UTF-8 string"),
        ("41ff", "cbor: invalid UTF-8 string"),
        (
            "1bffffffffffffffff",
            "cbor: cannot unmarshal positive integer into Go value of type int64 (18446744073709551615 overflows Go's int64)",
        ),
        (
            "3bffffffffffffffff",
            "cbor: cannot unmarshal negative integer into Go value of type int64 (-18446744073709551616 overflows Go's int64)",
        ),
        ("c249010000000000000000", "cbor: data item of cbor type tag is not accepted by protocol: bignum"),
        ("d818c24101", "cbor: data item of cbor type tag is not accepted by protocol: bignum"),
        (
            "f7",
            "cbor: data item of cbor type primitives is not accepted by protocol: simple value 23 is not recognized",
        ),
        (
            "f0",
            "cbor: data item of cbor type primitives is not accepted by protocol: simple value 16 is not recognized",
        ),
        (
            "f8ff",
            "cbor: data item of cbor type primitives is not accepted by protocol: simple value 255 is not recognized",
        ),
        ("f818", "cbor: invalid simple value 24 for type primitives"),
        ("f97e00", "cbor: data item of cbor type primitives is not accepted by protocol: floating-point NaN"),
        ("fa7f800000", "cbor: data item of cbor type primitives is not accepted by protocol: floating-point infinity"),
        ("a2416101616102", 'cbor: found duplicate map key "a" at map element index 1'),
        ("bf416101616102ff", 'cbor: found duplicate map key "a" at map element index 1'),
        ("a10102", "cbor: cannot unmarshal positive integer into Go value of type string"),
        ("a1f602", "cbor: cannot unmarshal primitives into Go value of type string"),
        ("a1800101", "cbor: cannot unmarshal array into Go value of type string"),
        ("a1d8188001", "cbor: cannot unmarshal tag into Go value of type string"),
        ("c001", "cbor: tag number 0 must be followed by text string, got positive integer"),
        ("c06161", 'cbor: cannot set "a" for time.Time'),
        ("c16161", "cbor: tag number 1 must be followed by integer or floating-point number, got UTF-8 text string"),
        ("c11b7fffffffffffffff", "cbor: cannot set 9223372036854775807 for time.Time"),
    ],
)
def test_decode_rejects_what_kubernetes_forbids(hexadecimal, message):
    with pytest.raises(DecodeError) as refused:
        decode(bytes.fromhex(hexadecimal))
    assert str(refused.value) == message


@pytest.mark.parametrize("opening", [b"\x81", b"\x9f", b"\xa1\x41\x61", b"\xbf\x41\x61"])
def test_decode_limits_nesting(opening):
    with pytest.raises(DecodeError, match=f"exceeded max nested level {NESTED_LEVELS_MAX}"):
        decode(opening * 100_000)
    closing = b"\xff" if opening[0] & 0x1F == 0x1F else b""
    decode(opening * NESTED_LEVELS_MAX + b"\x00" + closing * NESTED_LEVELS_MAX)


def test_decode_limits_nested_tags():
    assert decode(b"\xc6" * NESTED_LEVELS_MAX + b"\x01") == 1
    with pytest.raises(DecodeError, match=f"exceeded max nested level {NESTED_LEVELS_MAX}"):
        decode(b"\xc6" * 100_000 + b"\x01")


def test_decode_limits_elements():
    assert decode(encode([0] * ELEMENTS_MAX)) == [0] * ELEMENTS_MAX
    tree = {str(number): None for number in range(ELEMENTS_MAX)}
    assert decode(encode(tree)) == tree
    indefinite = b"\x9f" + b"\x00" * (ELEMENTS_MAX + 1) + b"\xff"
    for raw in (encode([0] * (ELEMENTS_MAX + 1)), b"\x9b" + b"\xff" * 8, indefinite):
        with pytest.raises(DecodeError, match="exceeded max number of elements 1024 for CBOR array"):
            decode(raw)
    tree["more"] = None
    for raw in (encode(tree), b"\xbb" + b"\xff" * 8):
        with pytest.raises(DecodeError, match="exceeded max number of key-value pairs 1024 for CBOR map"):
            decode(raw)


def test_decode_stored_reads_what_was_written():
    deep = {"a": 1}
    for _ in range(150):
        deep = {"a": deep}
    tree = {"deep": deep, "long": list(range(5000)), "wide": {str(number): number for number in range(5000)}}
    assert decode_stored(encode_object(tree)) == tree
    with pytest.raises(DecodeError, match="exceeded max nested level 200"):
        decode_stored(b"\x81" * 100_000)
    with pytest.raises(DecodeError, match="exceeded max number of elements"):
        decode_stored(b"\x9b" + b"\xff" * 8)


def test_decode_map_and_object_reject_other_items():
    assert decode_map(b"\xf6", "x") is None
    with pytest.raises(DecodeError, match=r"^cbor: cannot unmarshal array into Go value of type x$"):
        decode_map(b"\x80", "x")
    with pytest.raises(DecodeError, match=r"^unable to determine group/version/kind: cbor: .* v1.TypeMeta$"):
        decode_object(b"\x80")
    with pytest.raises(DecodeError, match=r"^unable to determine group/version/kind: EOF$"):
        decode_object(b"")


def test_work_is_accounted_for():
    tree = [[0] * 1000] * 100
    with metered(Allowance(1000)), pytest.raises(WorkLimitError):
        decode(encode_within(tree))
    with metered(Allowance(1000)), pytest.raises(WorkLimitError):
        encode(tree)


def encode_within(tree):
    """Encode outside of the meter in use."""
    with metered(Allowance(10**9)):
        return encode(tree)


@given(TREES)
def test_decode_inverts_encode(tree):
    again = decode(encode(tree))
    assert again == tree
    assert encode(again) == encode(tree)


@given(TREES)
def test_an_independent_decoder_reads_what_encode_writes(tree):
    cbor2 = pytest.importorskip("cbor2")
    assert texts(cbor2.loads(encode(tree))) == tree


@given(TREES)
def test_decode_reads_what_an_independent_encoder_writes(tree):
    cbor2 = pytest.importorskip("cbor2")
    for canonical in (False, True):
        assert decode(cbor2.dumps(tree, canonical=canonical)) == tree


def texts(value):
    """Return a tree with texts in place of byte strings."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {texts(key): texts(below) for key, below in value.items()}
    return [texts(below) for below in value] if isinstance(value, list) else value


@given(st.binary(max_size=200))
def test_hostile_bytes_are_a_tree_or_a_decode_error(raw):
    try:
        tree = decode(raw)
    except DecodeError:
        return
    assert decode(encode(tree)) == tree
