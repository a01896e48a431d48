"""Rules of the wire format. ``test_protobuf`` reads bodies, ``tests/conformance/protobuf`` every kind."""

import pytest

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.protowire import integer, length_delimited, string, wire_fields
from steersman.schema.protobuf_decoding import decoder_of

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def test_decode_merges_repeated_messages():
    raw = length_delimited(1, string(2, "7")) + length_delimited(1, string(3, "token"))
    tree = decoder_of("io.k8s.api.core.v1.PodList").decode(raw)
    assert tree["metadata"] == {"resourceVersion": "7", "continue": "token"}


def test_decode_of_a_map_entry_without_value_is_empty():
    tree = decoder_of(f"{META}.LabelSelector").decode(length_delimited(1, string(1, "a")))
    assert tree == {"matchLabels": {"a": ""}}


def test_decode_truncates_int32_as_go():
    assert decoder_of(f"{META}.Status").decode(integer(6, (1 << 32) + 5))["code"] == 5


def test_decode_rejects_deep_messages():
    raw = b""
    for _ in range(500):
        raw = length_delimited(28, raw)
    with pytest.raises(DecodeError, match="max depth"):
        decoder_of(SCHEMA).decode(raw)


@pytest.mark.parametrize("raw", [b"\x0a", b"\x0a\x05a", b"\x0b", b"\x09\x00", b"\xff"])
def test_decode_rejects_truncated_and_illegal_fields(raw):
    with pytest.raises(DecodeError):
        list(wire_fields(raw))
    with pytest.raises(DecodeError):
        decoder_of(f"{META}.ListMeta").decode(raw)
