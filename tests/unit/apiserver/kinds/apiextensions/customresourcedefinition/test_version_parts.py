"""Validation of the parts of a version."""

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.version_parts import (
    has_status,
    validate_columns,
    validate_schema_part,
    validate_selectable_fields,
    validate_subresources,
)

SPEC = {"type": "object", "properties": {"colour": {"type": "string"}, "parts": {"type": "array"}}}
SCHEMA = {
    "type": "object",
    "properties": {"spec": SPEC, "metadata": {"type": "object", "properties": {"name": {"type": "string"}}}},
}


def schema_faults(schema: dict | None, *, status: bool = False) -> list[str]:
    return texts(validate_schema_part({"openAPIV3Schema": schema}, Path("v"), has_status=status))


def test_validate_schema_part_accepts_valid_schemas():
    assert schema_faults(None) == []
    assert schema_faults({"type": "object"}, status=True) == []


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (
            {"type": "object", "nullable": True},
            "v.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root",
        ),
        (
            {"type": "object", "$schema": "x"},
            "v.openAPIV3Schema: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported",
        ),
        ({"type": "object", "$ref": "x"}, "v.openAPIV3Schema.$ref: Forbidden: $ref is not supported"),
        (
            {"type": "object", "properties": {"a": {"default": 1}}},
            "v.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string", "default": 1}}},
            'v.openAPIV3Schema.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"',
        ),
    ],
)
def test_validate_schema_part_rejects_invalid_schemas(schema, fault):
    assert schema_faults(schema) == [fault]


def test_validate_schema_part_restricts_root_keywords_with_status_subresource():
    schema = {"type": "object", "minProperties": 1}
    assert schema_faults(schema) == []
    (fault,) = schema_faults(schema, status=True)
    assert fault.startswith('v.openAPIV3Schema: Invalid value: {"ID":"","Schema":"","Ref":null,"Description":""')
    assert '"MinProperties":1,' in fault
    assert fault.endswith(
        "XValidations] fields are allowed at the root of the schema if the status subresource is enabled"
    )
    assert schema_faults({"type": "string"}, status=True)[0] == (
        'v.openAPIV3Schema.type: Invalid value: "string": only "object" is allowed as the type at the root of the schema '
        "if the status subresource is enabled"
    )


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "string", "minProperties": 1}, "v.openAPIV3Schema.type"),
        ({"type": "string", "id": "x"}, "v.openAPIV3Schema"),
        ({"type": "object", "nullable": False, "x-kubernetes-embedded-resource": False}, ""),
    ],
)
def test_validate_schema_part_reports_first_root_keyword_in_go_order(schema, path):
    faults = [fault for fault in schema_faults(schema, status=True) if "status subresource" in fault]
    assert [fault.partition(":")[0] for fault in faults] == [path][: bool(path)]


RULES = {"x-kubernetes-validations": [{"rule": "x"}]}


@pytest.mark.parametrize(
    ("properties", "count"),
    [
        ({"a": {"type": "string", **RULES}, "b": {"type": "string", "uniqueItems": True}}, 1),
        ({"a": {"type": "string", **RULES}, "b": {}}, 0),
        ({"a": {"type": "string", **RULES}, "b": {"type": "string", "default": 1}}, 0),
        ({"a": {"type": "string", **RULES}, "b": {"type": "string", "$ref": "x"}}, 0),
        ({"a": {"type": "string", "uniqueItems": True, **RULES}}, 0),
    ],
)
def test_validate_schema_part_compiles_rules_only_of_structural_schemas(properties, count):
    faults = schema_faults({"type": "object", "properties": properties})
    assert len([fault for fault in faults if "undeclared reference" in fault]) == count
    assert len(faults) > count


def test_validate_schema_part_compiles_rules_despite_root_errors():
    faults = schema_faults({"type": "object", "minProperties": 1, "nullable": True, **RULES}, status=True)
    assert len([fault for fault in faults if "undeclared reference" in fault]) == 1


def test_has_status_is_true_for_empty_status():
    assert has_status({"status": {}})
    assert not has_status({"scale": {}})
    assert not has_status(None)


@pytest.mark.parametrize(
    ("scale", "wrong"),
    [
        ({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}, []),
        ({}, ["r.scale.specReplicasPath: Required value", "r.scale.statusReplicasPath: Required value"]),
        (
            {"specReplicasPath": "spec.n", "statusReplicasPath": ".spec.n", "labelSelectorPath": ".s"},
            [
                'r.scale.specReplicasPath: Invalid value: "spec.n": must be a simple json path starting with .',
                'r.scale.statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status',
                'r.scale.labelSelectorPath: Invalid value: ".s": should be a json path under either .spec or .status',
            ],
        ),
    ],
)
def test_validate_subresources_checks_scale_paths(scale, wrong):
    assert texts(validate_subresources({"scale": scale}, Path("r"))) == wrong


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        ({"name": "A", "type": "date", "format": "date-time", "jsonPath": ".a"}, []),
        (
            {},
            [
                "c[0].name: Required value",
                "c[0].type: Required value: must be one of boolean,date,integer,number,string",
                "c[0].JSONPath: Required value",
            ],
        ),
        (
            {"name": "A", "type": "array", "format": "odd", "jsonPath": "a"},
            [
                'c[0].type: Invalid value: "array": must be one of boolean,date,integer,number,string',
                'c[0].format: Invalid value: "odd": must be one of byte,date,date-time,double,float,int32,int64,password',
                'c[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
            ],
        ),
    ],
)
def test_validate_columns_rejects_invalid_columns(column, wrong):
    assert texts(validate_columns([column], Path("c"))) == wrong


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (".spec.colour", []),
        ("", ["f[0].jsonPath: Required value"]),
        (
            ".spec.size",
            ['f[0].jsonPath: Invalid value: ".spec.size": is an invalid path: does not refer to a valid field'],
        ),
        (".metadata.name", ['f[0].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata']),
        (
            ".spec.parts",
            [
                (
                    'f[0].jsonPath: Invalid value: ".spec.parts": must point to a field of type string, boolean or integer. '
                    "Enum string fields and strings with formats are allowed."
                )
            ],
        ),
    ],
)
def test_validate_selectable_fields_rejects_invalid_paths(path, wrong):
    assert texts(validate_selectable_fields([{"jsonPath": path}], SCHEMA, Path("f"), if_no_schema="")) == wrong


def test_validate_selectable_fields_limits_number_and_rejects_duplicates():
    twice = [{"jsonPath": ".spec.colour"}] * 2
    assert texts(validate_selectable_fields(twice, SCHEMA, Path("f"), if_no_schema="")) == [
        'f[1].jsonPath: Duplicate value: ".spec.colour"'
    ]
    many = {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(9)}}
    fields = [{"jsonPath": f".f{n}"} for n in range(9)]
    assert texts(validate_selectable_fields(fields, many, Path("f"), if_no_schema="")) == [
        "f: Too many: 9: must have at most 8 items"
    ]
    assert texts(validate_selectable_fields(twice, None, Path("f"), if_no_schema="no")) == ['f: Invalid value: "": no']
