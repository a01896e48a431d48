"""Validation of custom resource schemas."""

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.openapi_schema import validate_schema


def faults(schema: dict) -> list[str]:
    return texts(validate_schema(schema, Path("s")))


def faults_of(**field: object) -> list[str]:
    schema = {"type": "object", "properties": {"a": {key.replace("_", "-"): value for key, value in field.items()}}}
    return [fault.removeprefix("s.properties[a].") for fault in faults(schema)]


def test_validate_schema_accepts_valid_schema():
    assert faults_of(type="object", x_kubernetes_map_type="atomic", properties={"b": {"type": "string"}}) == []
    assert faults_of(type="object", additionalProperties={"type": "string"}) == []


@pytest.mark.parametrize(
    ("field", "fault"),
    [
        (
            {"type": "text"},
            (
                'type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", '
                '"string"'
            ),
        ),
        (
            {"uniqueItems": True},
            "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        ({"id": "i"}, "id: Forbidden: id is not supported"),
        ({"$ref": "r"}, "$ref: Forbidden: $ref is not supported"),
        ({"additionalItems": False}, "additionalItems: Forbidden: additionalItems is not supported"),
        ({"patternProperties": {"p": {}}}, "patternProperties: Forbidden: patternProperties is not supported"),
        ({"items": [{}]}, "items: Forbidden: items must be a schema object and not an array"),
        (
            {"properties": {"b": {}}, "additionalProperties": {}},
            "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            {"x_kubernetes_preserve_unknown_fields": False},
            "x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            {"type": "array", "x_kubernetes_map_type": "atomic"},
            'type: Invalid value: "array": must be object if x-kubernetes-map-type is specified',
        ),
        (
            {"x_kubernetes_map_type": "atomic"},
            "type: Required value: must be object if x-kubernetes-map-type is specified",
        ),
        (
            {"type": "object", "x_kubernetes_map_type": "odd"},
            'x-kubernetes-map-type: Unsupported value: "odd": supported values: "atomic", "granular"',
        ),
        ({"not": {"id": "i"}}, "not.id: Forbidden: id is not supported"),
        ({"items": {"id": "i"}}, "items.id: Forbidden: id is not supported"),
        ({"oneOf": [{"id": "i"}]}, "oneOf[0].id: Forbidden: id is not supported"),
    ],
)
def test_validate_schema_rejects_invalid_keywords(field, fault):
    assert faults_of(**field) == [fault]


def test_validate_schema_rejects_null_type():
    assert faults_of(type="null")[1:] == ["type: Forbidden: type cannot be set to null, use nullable as an alternative"]


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ({}, "rule: Required value: rule is not specified"),
        ({"rule": "true", "message": " "}, 'message: Invalid value: " ": message must be non-empty if specified'),
        ({"rule": "true", "message": "a\nb"}, 'message: Invalid value: "a\\nb": message must not contain line breaks'),
        ({"rule": "a\nb"}, "message: Required value: message must be specified if rule contains line breaks"),
        (
            {"rule": "true", "messageExpression": " "},
            "messageExpression: Required value: messageExpression must be non-empty if specified",
        ),
        (
            {"rule": "true", "reason": "Odd"},
            (
                'reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
                '"FieldValueInvalid", "FieldValueRequired"'
            ),
        ),
        ({"rule": "true", "fieldPath": ".c"}, 'fieldPath: Invalid value: ".c": fieldPath must be a valid path'),
    ],
)
def test_validate_schema_rejects_invalid_rules(rule, fault):
    field = {"type": "object", "properties": {"b": {"type": "string"}}, "x_kubernetes_validations": [rule]}
    assert faults_of(**field) == [f"x-kubernetes-validations[0].{fault}"]


def test_validate_schema_skips_field_paths_of_schemas_that_are_not_convertible():
    rule = {"rule": "true", "fieldPath": ".c"}
    texts_of_rule = faults({"type": "object", "$schema": "x", "x-kubernetes-validations": [rule]})
    assert texts_of_rule == []


def test_validate_schema_accepts_valid_rule():
    rule = {"rule": "self.b != ''", "message": "b", "reason": "FieldValueInvalid", "fieldPath": ".b"}
    assert faults_of(type="object", properties={"b": {"type": "string"}}, x_kubernetes_validations=[rule]) == []


def test_validate_schema_rejects_defaults_of_object_metadata():
    name = {"type": "string", "default": "d"}
    schema = {"properties": {"kind": name, "metadata": {"properties": {"name": name}}, "spec": name}}
    assert faults(schema) == [
        "s.properties[kind].default: Forbidden: must not be set in top-level kind",
        "s.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata",
    ]


def test_validate_schema_rejects_defaults_of_embedded_labels():
    labels = {"additionalProperties": {"type": "string", "default": "d"}}
    embedded = {"x-kubernetes-embedded-resource": True}
    schema = {
        "properties": {"a": embedded | {"properties": {"metadata": {"properties": {"labels": labels, "b": embedded}}}}}
    }
    metadata = "s.properties[a].properties[metadata]"
    assert faults(schema) == [
        (
            f"{metadata}.properties[labels].additionalProperties.default: Forbidden: must not be set inside "
            "additionalProperties applying to object metadata"
        ),
        f"{metadata}.properties[b].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta",
    ]
