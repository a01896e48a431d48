"""Published schemas of custom kinds."""

from __future__ import annotations

import pytest

from steersman.apiserver.openapi.custom_schemas import publish_schema

FIELDS = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"$ref": "#/meta"}}
EITHER = [{"type": "integer"}, {"type": "string"}]


def published(schema, *, v3):
    """Return the published form of a schema of the field ``spec``."""
    root = {"type": "object", "properties": {"spec": schema}}
    result = publish_schema(root, FIELDS, v3=v3)
    assert result["properties"].keys() == {"spec", *FIELDS}
    return result["properties"]["spec"]


@pytest.mark.parametrize("v3", [False, True])
def test_root_has_the_fields_of_every_object(v3):
    assert publish_schema({"type": "object"}, FIELDS, v3=v3) == {"type": "object", "properties": FIELDS}


def test_root_that_preserves_unknown_fields_has_no_properties_in_version_2():
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}}
    assert publish_schema(schema, FIELDS, v3=False) == {"type": "object"}
    assert publish_schema(schema, FIELDS, v3=True)["properties"] == {"a": {"type": "string"}, **FIELDS}


@pytest.mark.parametrize(
    ("schema", "added"),
    [
        ({}, {"anyOf": EITHER}),
        ({"anyOf": EITHER}, {}),
        ({"allOf": [{"anyOf": EITHER}]}, {}),
        ({"anyOf": [{"minimum": 1}]}, {"allOf": [{"anyOf": EITHER}]}),
    ],
)
def test_int_or_string_has_its_extension_in_version_3(schema, added):
    schema = {"x-kubernetes-int-or-string": True, **schema}
    for place in (lambda s: s, lambda s: {"type": "array", "items": s}, lambda s: {"additionalProperties": s}):
        assert published(place(schema), v3=True) == place({**schema, **added})
    assert published(schema, v3=False) == {"x-kubernetes-int-or-string": True}


@pytest.mark.parametrize(
    ("schema", "stripped"),
    [
        (
            {"type": "string", "allOf": [{}], "anyOf": [{}], "oneOf": [{}], "not": {}, "pattern": "a", "default": "a"},
            {"type": "string", "pattern": "a"},
        ),
        ({"type": "object", "nullable": True, "properties": {"a": {}}, "description": "d"}, {"description": "d"}),
        ({"type": "array", "nullable": True, "items": {"type": "string"}}, {}),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}},
            {"x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            {"type": "array", "items": {"type": "object", "nullable": True}},
            {"type": "array", "items": {}},
        ),
        (
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"nullable": True}, "b": {}}},
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": {}}},
        ),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"nullable": True}}},
            {"type": "object", "properties": {"a": {}}},
        ),
        (
            {"type": "object", "required": ["a"], "additionalProperties": {"nullable": True}},
            {"type": "object", "additionalProperties": {}},
        ),
    ],
)
def test_version_2_is_stripped(schema, stripped):
    assert published(schema, v3=False) == stripped
    assert published(schema, v3=True) == schema


@pytest.mark.parametrize("v3", [False, True])
def test_embedded_resource_has_the_fields_of_an_object(v3):
    schema = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["kind"]}
    result = published(schema, v3=v3)
    texts = {name: field.pop("description", "") for name, field in result["properties"].items()}
    assert result == {**schema, "properties": FIELDS, "required": ["kind", "apiVersion"]}
    assert texts["apiVersion"].startswith(
        "apiVersion defines the versioned schema of this representation of an object."
    )
    assert texts["kind"].startswith("kind is a string value representing the type of this object.")


def test_embedded_resource_that_preserves_unknown_fields_stays_open_in_version_2():
    flags = {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    assert published({"type": "object", **flags}, v3=False) == flags
    assert published({"type": "object", **flags}, v3=True)["properties"].keys() == FIELDS.keys()


@pytest.mark.parametrize("v3", [False, True])
def test_examples_and_links_are_not_published(v3):
    schema = {"type": "string", "title": "t", "example": "a", "externalDocs": {"url": "u"}}
    assert published(schema, v3=v3) == {"type": "string", "title": "t"}


def test_schema_is_not_modified():
    schema = {"type": "object", "nullable": True, "properties": {"a": {"x-kubernetes-int-or-string": True}}}
    before = repr(schema)
    for v3 in (False, True):
        published(schema, v3=v3)
    assert repr(schema) == before
