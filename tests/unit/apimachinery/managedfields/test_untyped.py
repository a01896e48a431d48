"""Every field of every built-in type against the structured-merge-diff schema that upstream derives from OpenAPI.

The expectation is derived here from the published definitions, by the rules of kube-openapi's ``pkg/schemaconv``: a
definition without ``type`` takes a scalar, a list or a map, whatever Go makes of it afterwards.
"""

from __future__ import annotations

from functools import cache

import pytest
from codegen.sources import definitions

from steersman.apimachinery.managedfields.shapes import object_shape
from steersman.apimachinery.managedfields.validate import faults_of
from steersman.schema.loader import struct

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"
JSON_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

SAMPLES = {"map": {}, "list": [], "string": "x", "number": 1, "fraction": 1.5, "boolean": True}
SCALARS = frozenset({"string", "number", "fraction", "boolean"})
ANYTHING = frozenset(SAMPLES)
ACCEPTED_BY_TYPE = {
    "object": frozenset({"map"}),
    "array": frozenset({"list"}),
    "integer": frozenset({"number", "fraction"}),
    "number": frozenset({"number", "fraction"}),
    "boolean": frozenset({"boolean"}),
}


@cache
def published():
    return definitions()


def resolve(schema):
    """Return the definition's name, or an empty string, and the schema itself."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name, published()[name]
    return "", schema


def type_of(schema):
    kind = schema.get("type")
    return kind if isinstance(kind, str | None) else next(item for item in kind if item != "null")


def accepted(schema):
    """Return the names of the samples that upstream's typed schema takes for a field."""
    name, schema = resolve(schema)
    if name == QUANTITY:
        return SCALARS
    kind = type_of(schema)
    if name == RAW_EXTENSION or kind is None:
        return ANYTHING
    if kind == "string":
        return SCALARS if schema.get("format", "") not in ("", "byte") else frozenset({"string"})
    return ACCEPTED_BY_TYPE[kind]


def built_in_fields():
    """Yield a struct, a field's name and the field's published schema."""
    for name, definition in published().items():
        try:
            type_ = struct(name)
        except KeyError:  # not served, or a leaf
            continue
        for field, schema in definition.get("properties", {}).items():
            if field != "managedFields" and not name.endswith(".ManagedFieldsEntry"):  # refused before it is validated
                yield type_, field, schema


def test_faults_of_every_built_in_field_follow_upstreams_typed_schema():
    wrong = [
        (type_.name, field, kind)
        for type_, field, schema in built_in_fields()
        for kind, value in SAMPLES.items()
        if (kind in accepted(schema)) is bool(faults_of({field: value}, type_))
    ]
    assert wrong == []


def test_shape_of_every_built_in_field_without_a_type_is_deduced():
    value = {"a": {"b": [1]}, "c": 2}
    deduced = {"f:a": {".": {}, "f:b": {}}, "f:c": {}}
    fields = [
        (type_, field)
        for type_, field, schema in built_in_fields()
        if type_of(resolve(schema)[1]) is None and resolve(schema)[0].startswith(JSON_SCHEMA)
    ]
    assert {field for _, field in fields} >= {"items", "additionalProperties", "additionalItems", "default", "example"}
    for type_, field in fields:
        assert object_shape(type_).below({field: value}) == {f"f:{field}": deduced}, (type_.name, field)
        assert object_shape(type_).below({field: [{"a": 1}]}) == {f"f:{field}": {}}, (type_.name, field)


def test_shape_of_every_built_in_raw_extension_is_atomic():
    fields = [(type_, field) for type_, field, schema in built_in_fields() if resolve(schema)[0] == RAW_EXTENSION]
    assert "data" in {field for _, field in fields}
    for type_, field in fields:
        assert object_shape(type_).below({field: {"a": {"b": 1}}}) == {f"f:{field}": {}}, (type_.name, field)


@pytest.mark.parametrize(
    ("field", "values"),
    {
        "items": [{"type": "object", "properties": {"a": {"type": "string"}}}, [{"type": "string"}]],
        "additionalProperties": [True, False, {"type": "object", "additionalProperties": {"type": "string"}}],
        "additionalItems": [True, {"type": "string"}],
        "dependencies": [{"a": ["b"]}, {"a": {"required": ["b"]}}],
        "default": [None, 1, "x", [1], {"a": [{"b": None}]}],
        "example": [{"a": 1}, [1]],
        "enum": [[1, "a", None, {"b": 1}]],
        "x-kubernetes-validations": [[{"rule": "self.a == 1", "message": "m"}]],
    }.items(),
)
def test_faults_of_json_schema_accept_each_alternative_of_a_union(field, values):
    props = struct(JSON_SCHEMA + "JSONSchemaProps")
    assert [faults_of({field: value}, props) for value in values] == [[]] * len(values)
