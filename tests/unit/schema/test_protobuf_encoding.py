"""Bytes of single fields. ``tests/conformance/protobuf`` compares whole objects with recorded ones."""

import pytest

from steersman.schema.protobuf_encoding import encoder_of, length

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def test_encode_writes_empty_fields_that_are_not_pointers():
    assert encoder_of(f"{META}.ListMeta").encode({}) == b"\x0a\x00\x12\x00\x1a\x00"
    assert encoder_of(f"{META}.ListMeta").encode({"remainingItemCount": 0}) == b"\x0a\x00\x12\x00\x1a\x00\x20\x00"


def test_encode_sorts_map_entries_by_key():
    raw = encoder_of(f"{META}.LabelSelector").encode({"matchLabels": {"b": "2", "a": "1"}})
    assert raw == b"\x0a\x06\x0a\x01a\x12\x011" + b"\x0a\x06\x0a\x01b\x12\x012"


def test_encode_ignores_unknown_keys_and_nulls():
    encoder = encoder_of(f"{META}.ListMeta")
    assert encoder.encode({"kind": "x", "continue": None}) == encoder.encode({})


@pytest.mark.parametrize(
    ("size", "expected"), [(0, b"\x00"), (127, b"\x7f"), (128, b"\x80\x01"), (1 << 20, b"\x80\x80\x40")]
)
def test_length_is_a_varint(size, expected):
    assert length(size) == expected


@pytest.mark.parametrize(
    ("tree", "field"),
    [
        ({"additionalProperties": False}, b"\xf2\x01\x02\x08\x00"),
        ({"additionalProperties": True}, b"\xf2\x01\x02\x08\x01"),
        ({"default": {"a": 1}}, b"\x42\x09\x0a\x07" + b'{"a":1}'),
        ({"minimum": 0}, b"\x59" + bytes(8)),
    ],
)
def test_encode_of_json_schema_alternatives(tree, field):
    assert field in encoder_of(SCHEMA).encode(tree)
