"""Validation of schema defaults."""

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.default_values import validate_defaults

OBJECT = {"type": "object", "properties": {"b": {"type": "integer"}}}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}}


def faults_of(field: dict) -> list[str]:
    return texts(validate_defaults({"type": "object", "properties": {"a": field}}, Path("s")))


@pytest.mark.parametrize(
    "field",
    [
        {"type": "integer", "default": 1},
        {"type": "boolean", "default": False},
        OBJECT | {"default": {"b": 1}},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "default": {"c": {"d": 1}}},
        {"type": "object", "additionalProperties": {"type": "string"}, "default": {"c": "d"}},
        EMBEDDED | {"default": {"apiVersion": "v1", "kind": "K", "metadata": {}, "spec": {}}},
        {"type": "array", "items": OBJECT, "default": [{"b": 1}]},
    ],
)
def test_validate_defaults_accepts_valid_defaults(field):
    assert faults_of(field) == []


@pytest.mark.parametrize(
    ("field", "fault"),
    [
        (
            {"type": "integer", "default": "x"},
            's.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
        ),
        (
            OBJECT | {"default": {"b": "x"}},
            's.properties[a].default.b: Invalid value: "string": b in body must be of type integer: "string"',
        ),
        (
            OBJECT | {"default": {"c": 1}},
            's.properties[a].default: Invalid value: {"c":1}: must not have unknown fields',
        ),
        (
            {"type": "array", "items": OBJECT, "default": [{"c": 1}]},
            's.properties[a].default: Invalid value: [{"c":1}]: must not have unknown fields',
        ),
        (
            {"type": "array", "items": OBJECT | {"required": ["b"], "default": {}}},
            "s.properties[a].items.default.b: Required value",
        ),
    ],
)
def test_validate_defaults_rejects_invalid_defaults(field, fault):
    assert faults_of(field) == [fault]


@pytest.mark.parametrize(
    ("default", "faults"),
    [
        ({"apiVersion": "v1"}, ["s.properties[a].default.kind: Required value"]),
        (
            {"apiVersion": 1, "kind": "K"},
            ["s.properties[a].default.apiVersion: Invalid value: 1: must be a string"],
        ),
        (
            {"apiVersion": "v1", "kind": "K", "metadata": {"name": 5}},
            [
                (
                    's.properties[a].default.metadata: Invalid value: {"name":5}: json: cannot unmarshal number into Go '
                    "struct field ObjectMeta.name of type string"
                )
            ],
        ),
        ({"apiVersion": "v1", "kind": "K", "metadata": {"unknown": 1}}, []),
    ],
)
def test_validate_defaults_validates_type_and_metadata_of_embedded_objects(default, faults):
    assert faults_of(EMBEDDED | {"default": default}) == faults


@pytest.mark.parametrize(
    ("properties", "faults"),
    [
        ({"kind": {"type": "string", "default": "Po d"}}, []),
        (
            {"kind": {"type": "string", "default": 1}},
            [
                's.properties[a].properties[kind].default: Invalid value: "integer":  in body must be of type string: "integer"'
            ],
        ),
        (
            {"metadata": {"type": "object", "properties": {"labels": {"type": "object", "default": {"a": "b"}}}}},
            [],
        ),
        (
            {"metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "a/b"}}}},
            [
                (
                    's.properties[a].properties[metadata].properties[name].default: Invalid value: "a/b": must result in '
                    "valid metadata: metadata.name: Invalid value: \"a/b\": may not contain '/'"
                )
            ],
        ),
        (
            {
                "metadata": {
                    "type": "object",
                    "properties": {"finalizers": {"type": "array", "items": {"type": "string", "default": 1}}},
                }
            },
            [
                (
                    "s.properties[a].properties[metadata].properties[finalizers].items.default: Invalid value: 1: must result "
                    'in valid metadata: metadata: Invalid value: {"finalizers":[1]}: json: cannot unmarshal number into Go '
                    "struct field ObjectMeta.finalizers of type string"
                )
            ],
        ),
    ],
)
def test_validate_defaults_validates_metadata_with_a_default_within(properties, faults):
    assert faults_of(EMBEDDED | {"properties": properties}) == faults


def test_validate_defaults_reports_violated_rule_at_default():
    schema = {"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > 2"}]}
    errors = validate_defaults(schema, Path("s"), is_resource=False)
    assert [str(error) for error in errors] == ["s.default: Invalid value: 1: failed rule: self > 2"]
