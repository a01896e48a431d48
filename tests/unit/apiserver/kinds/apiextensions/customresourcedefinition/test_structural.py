"""Structural schemas."""

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.structural import (
    check_convertible,
    validate_structural,
)

INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
PRESERVE = "x-kubernetes-preserve-unknown-fields"


def faults(schema: dict) -> list[str]:
    return texts(validate_structural(schema, Path("s")))


def faults_of(field: dict) -> list[str]:
    return [fault.removeprefix("s.properties[a].") for fault in faults({"type": "object", "properties": {"a": field}})]


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "pattern": "^a$"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {PRESERVE: True},
        {"x-kubernetes-int-or-string": True, "anyOf": INT_OR_STRING},
        {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": INT_OR_STRING}, {"pattern": "a"}]},
        {"type": "object", "x-kubernetes-embedded-resource": True, PRESERVE: True},
        {"type": "string", "anyOf": [{"pattern": "a"}, {"minLength": 1}], "not": {"enum": ["b"]}},
    ],
)
def test_validate_structural_accepts_structural_fields(field):
    assert faults_of(field) == []


@pytest.mark.parametrize(
    ("field", "fault"),
    [
        ({}, "type: Required value: must not be empty for specified object fields"),
        ({"type": "array", "items": {}}, "items.type: Required value: must not be empty for specified array items"),
        ({"type": "array"}, "items: Required value: must be specified"),
        (
            {"type": "object", "additionalProperties": {}},
            "additionalProperties.type: Required value: must not be empty for specified object fields",
        ),
        (
            {"type": "string", "pattern": "("},
            (
                'pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: '
                "missing closing ): `(`"
            ),
        ),
        (
            {"x-kubernetes-int-or-string": True, PRESERVE: True},
            f"{PRESERVE}: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ),
        (
            {"x-kubernetes-embedded-resource": True, PRESERVE: True},
            "type: Required value: must be object if x-kubernetes-embedded-resource is true",
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            (
                "properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields"
            ),
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True, PRESERVE: True, "additionalProperties": True},
            "additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set",
        ),
    ],
)
def test_validate_structural_rejects_non_structural_fields(field, fault):
    assert faults_of(field) == [fault]


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"type": "string"}, "type: Forbidden: must be empty to be structural"),
        ({"default": False}, "default: Forbidden: must be undefined to be structural"),
        ({"nullable": True}, "nullable: Forbidden: must be false to be structural"),
        ({"description": "d"}, "description: Forbidden: must be empty to be structural"),
        ({"additionalProperties": True}, "additionalProperties: Forbidden: must be undefined to be structural"),
        ({"x-kubernetes-list-type": "set"}, "x-kubernetes-list-type: Forbidden: must be undefined to be structural"),
        ({"not": {"title": "t"}}, "not.title: Forbidden: must be empty to be structural"),
        ({"items": {"type": "string"}}, "items.type: Forbidden: must be empty to be structural"),
        (
            {"properties": {"metadata": {}}},
            "properties[metadata]: Forbidden: must not be specified in a nested context",
        ),
    ],
)
@pytest.mark.parametrize("logic", ["allOf", "anyOf", "oneOf"])
def test_validate_structural_rejects_structure_in_logical_junctors(logic, part, fault):
    assert faults_of({"type": "object", logic: [part]}) == [f"{logic}[0].{fault}"]


def test_validate_structural_requires_fields_of_junctors_outside_of_them():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object"}},
        "allOf": [{"properties": {"a": {"properties": {"b": {}}}, "c": {}}}],
    }
    assert faults(schema) == [
        (
            "s.properties[a].properties[b]: Required value: because it is defined in "
            "s.allOf[0].properties[a].properties[b]"
        ),
        "s.properties[c]: Required value: because it is defined in s.allOf[0].properties[c]",
    ]


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({}, "s.type: Required value: must not be empty at the root"),
        ({"type": "string"}, 's.type: Invalid value: "string": must be object at the root'),
        (
            {"type": "object", "additionalProperties": True},
            "s.additionalProperties: Forbidden: must not be used at the root",
        ),
        (
            {"type": "object", "properties": {"kind": {"type": "integer"}}},
            's.properties[kind].type: Invalid value: "integer": must be string',
        ),
        (
            {"type": "object", "properties": {"metadata": {"type": "object", "minProperties": 0}}},
            (
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata "
                "is implicitly specified"
            ),
        ),
        (
            {
                "type": "object",
                "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
            },
            (
                "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata "
                "is implicitly specified"
            ),
        ),
    ],
)
def test_validate_structural_validates_root(schema, fault):
    assert faults(schema) == [fault]


def test_validate_structural_accepts_restrictions_of_metadata_name():
    name = {"type": "string", "maxLength": 10}
    assert (
        faults({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": name}}}}) == []
    )


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "object"}, ""),
        ({"$schema": "x"}, "OpenAPIV3Schema 'schema' is not supported"),
        ({"properties": {"a": {"$ref": "x"}}}, "OpenAPIV3Schema '$ref' is not supported"),
        ({"items": [{}]}, "OpenAPIV3Schema 'items' must be a schema, but is an array"),
        ({"anyOf": [{PRESERVE: False}]}, f"internal error: '{PRESERVE}' must be true or undefined"),
    ],
)
def test_check_convertible_rejects_unsupported_keywords(schema, fault):
    assert check_convertible(schema) == fault
