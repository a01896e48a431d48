"""Protobuf documents, decoded by a reader of the wire format."""

from collections.abc import Iterator

from steersman.apiserver.openapi.protobuf import V2, V3


def encode_v2(document: dict) -> bytes:
    return V2.message("Document", document)


def encode_v3(document: dict) -> bytes:
    return V3.message("Document", document)


def varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(raw: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Return the fields of a message: number and payload."""
    at = 0
    while at < len(raw):
        key, at = varint(raw, at)
        if key & 7 == 0:
            value, at = varint(raw, at)
            yield key >> 3, value
        else:
            size, at = varint(raw, at)
            yield key >> 3, raw[at : at + size]
            at += size


def one(raw: bytes, *path: int) -> bytes:
    for number in path:
        raw = next(payload for n, payload in fields(raw) if n == number and isinstance(payload, bytes))
    return raw


def test_definition_keeps_name_type_and_extensions():
    schema = {"type": "object", "x-kubernetes-group-version-kind": [{"kind": "Pod"}]}
    raw = encode_v2({"swagger": "2.0", "definitions": {"Pod": schema}})
    assert one(raw, 1) == b"2.0"
    assert one(raw, 9, 1, 1) == b"Pod"
    assert one(raw, 9, 1, 2, 22, 1) == b"object"
    assert one(raw, 9, 1, 2, 31, 1) == b"x-kubernetes-group-version-kind"
    assert one(raw, 9, 1, 2, 31, 2, 2) == b'[{"kind":"Pod"}]\n'


def test_properties_and_items_nest():
    raw = encode_v2(
        {"definitions": {"A": {"properties": {"b": {"type": "array", "items": {"$ref": "#/definitions/B"}}}}}}
    )
    assert one(raw, 9, 1, 2, 25, 1, 1) == b"b"
    assert one(raw, 9, 1, 2, 25, 1, 2, 23, 1, 1) == b"#/definitions/B"


def test_parameters_are_encoded_by_location():
    parameters = [
        {"name": "body", "in": "body", "required": True, "schema": {"type": "object"}},
        {"name": "q", "in": "query", "type": "string"},
        {"name": "p", "in": "path", "type": "string", "required": True},
    ]
    operation = {"operationId": "x", "parameters": parameters, "responses": {"200": {"description": "OK"}}}
    raw = one(encode_v2({"paths": {"/a": {"post": operation}}}), 8, 2, 2, 4)
    items = [payload for number, payload in fields(raw) if number == 8]
    assert one(items[0], 1, 1, 2) == b"body"
    assert one(items[1], 1, 2, 3, 4) == b"q"
    assert one(items[2], 1, 2, 4, 4) == b"p"


def test_version_3_distinguishes_references_from_schemas():
    document = {
        "openapi": "3.0.0",
        "components": {"schemas": {"A": {"properties": {"b": {"$ref": "#/components/schemas/B"}}}}},
    }
    raw = encode_v3(document)
    schema = one(raw, 5, 1, 1, 2, 1)
    assert one(schema, 31, 1, 2, 2, 1) == b"#/components/schemas/B"


def test_long_payloads_have_multi_byte_lengths():
    text = "x" * 300
    assert one(encode_v2({"definitions": {"A": {"description": text}}}), 9, 1, 2, 4) == text.encode()


def test_document_of_fragments_equals_the_message_encoded_whole():
    schemas = {"A": {"type": "object"}, "B": {"$ref": "#/components/schemas/A"}}
    frame = {"openapi": "3.0.0", "paths": {}, "components": {"schemas": {}, "securitySchemes": {"T": {"name": "n"}}}}
    item = {"get": {"operationId": "x"}}
    whole = {**frame, "paths": {"/a": item}, "components": {**frame["components"], "schemas": schemas}}
    definitions = [V3.definition(name, schema) for name, schema in schemas.items()]
    assert b"".join(V3.document(frame, [V3.path_item("/a", item)], definitions)) == encode_v3(whole)


def test_document_of_version_2_holds_its_definitions_directly():
    schemas = {"A": {"type": "object"}}
    frame = {"swagger": "2.0", "paths": {}, "definitions": {}}
    fragments = V2.document(frame, [], [V2.definition(name, schema) for name, schema in schemas.items()])
    assert b"".join(fragments) == encode_v2({**frame, "definitions": schemas})
