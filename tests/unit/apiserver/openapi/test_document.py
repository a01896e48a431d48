"""Encoded documents."""

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.openapi.document import Document, pieces
from steersman.apiserver.openapi.protobuf import V2, V3

PATHS = {"/b": b'{"get":{"operationId":"b"}}', "/a": b'{"get":{"operationId":"a"}}'}
DEFINITIONS = {"x.B": b'{"type":"object"}', 'x."A"': b'{"type":"string"}'}


@pytest.mark.parametrize("is_v3", [False, True])
def test_json_holds_paths_and_definitions_sorted_by_name(is_v3):
    tree = msgspec.json.decode(b"".join(Document(PATHS, DEFINITIONS, is_v3=is_v3).json))
    assert list(tree["paths"]) == ["/a", "/b"]
    definitions = tree["components"]["schemas"] if is_v3 else tree["definitions"]
    assert definitions == {'x."A"': {"type": "string"}, "x.B": {"type": "object"}}
    assert list(definitions) == ['x."A"', "x.B"]
    assert tree["security"] == [{"BearerToken": []}]


@pytest.mark.parametrize("is_v3", [False, True])
def test_json_is_valid_when_there_are_neither_paths_nor_definitions(is_v3):
    assert msgspec.json.decode(b"".join(Document({}, {}, is_v3=is_v3).json))["paths"] == {}


@pytest.mark.parametrize("is_v3", [False, True])
def test_etag_is_the_sha512_of_the_json_text(is_v3):
    document = Document(PATHS, DEFINITIONS, is_v3=is_v3)
    text = b"".join(document.json)
    assert (document.etag, document.size) == (hashlib.sha512(text).hexdigest().upper(), len(text))


def test_json_shares_the_encoded_definitions():
    assert any(fragment is DEFINITIONS["x.B"] for fragment in Document(PATHS, DEFINITIONS, is_v3=True).json)


@pytest.mark.parametrize("is_v3", [False, True])
def test_protobuf_is_the_message_of_the_json_text(is_v3):
    document = Document(PATHS, DEFINITIONS, is_v3=is_v3)
    whole = (V3 if is_v3 else V2).message("Document", msgspec.json.decode(b"".join(document.json)))
    assert b"".join(document.protobuf()) == whole


@given(st.lists(st.binary(max_size=9)), st.integers(1, 8))
def test_pieces_are_the_concatenation_in_pieces_of_bounded_size(fragments, size_max):
    result = list(pieces(tuple(fragments), size_max))
    assert b"".join(result) == b"".join(fragments)
    assert all(len(piece) == size_max for piece in result[:-1])
    assert all(0 < len(piece) <= size_max for piece in result)
