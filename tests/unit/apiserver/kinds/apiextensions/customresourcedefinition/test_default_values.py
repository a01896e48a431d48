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


def test_validate_defaults_skips_object_metadata():
    schema = {"type": "object", "properties": {"kind": {"type": "string", "default": 1}}}
    assert texts(validate_defaults(schema, Path("s"))) == []


def test_validate_defaults_reports_violated_rule_at_default():
    schema = {"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > 2"}]}
    errors = validate_defaults(schema, Path("s"), is_resource=False)
    assert [str(error) for error in errors] == ["s.default: Invalid value: 1: failed rule: self > 2"]
