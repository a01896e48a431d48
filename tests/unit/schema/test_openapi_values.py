"""Objects against their schema."""

import pytest

from steersman.schema.openapi_values import validate, validate_value


def faults(schema: dict, value: object) -> list[str]:
    return [str(e) for e in validate({"type": "object", "properties": {"spec": schema}}, {"spec": value})]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "one", 'spec: Invalid value: "string": spec in body must be of type integer: "string"'),
        ({"type": "integer"}, 1.5, 'spec: Invalid value: "number": spec in body must be of type integer: "number"'),
        ({"type": "object", "required": ["a"]}, {}, "spec.a: Required value"),
        ({"type": "string", "enum": ["a", "b"]}, "c", 'spec: Unsupported value: "c": supported values: "a", "b"'),
        (
            {"type": "integer", "minimum": 1},
            0,
            "spec: Invalid value: 0: spec in body should be greater than or equal to 1",
        ),
        (
            {"type": "integer", "maximum": 3},
            4,
            "spec: Invalid value: 4: spec in body should be less than or equal to 3",
        ),
        ({"type": "string", "pattern": "^a$"}, "b", "spec: Invalid value: \"b\": spec in body should match '^a$'"),
        ({"type": "string", "maxLength": 2}, "abc", "spec: Too long: may not be more than 2 bytes"),
        (
            {"type": "string", "minLength": 1},
            "",
            'spec: Invalid value: "": spec in body should be at least 1 chars long',
        ),
        ({"type": "array", "maxItems": 1}, [1, 2], "spec: Too many: 2: must have at most 1 item"),
        ({"type": "array", "x-kubernetes-list-type": "set"}, ["a", "a"], 'spec[1]: Duplicate value: "a"'),
    ],
)
def test_what_is_wrong_is_told_as_upstream_tells_it(schema, value, message):
    assert faults(schema, value) == [message]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, 1),
        ({"type": "integer"}, 2.0),
        ({"x-kubernetes-int-or-string": True}, "50%"),
        ({"x-kubernetes-int-or-string": True}, 5),
        ({"type": "string", "nullable": True}, None),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1),
        ({"type": "array", "items": {"type": "string"}}, ["a"]),
    ],
)
def test_what_fits_is_let_through(schema, value):
    assert faults(schema, value) == []


def test_all_faults_are_told_at_once():
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
    assert len(faults(schema, {"a": 1, "b": "x"})) == 2


def test_answers_are_bounded_whatever_is_sent():
    assert len(faults({"type": "array", "items": {"type": "string"}}, [1] * 1000)) == 100


def test_logic_tells_which_part_failed():
    assert "anyOf" in faults({"anyOf": [{"type": "string"}, {"type": "boolean"}]}, 1)[0]
    assert "oneOf" in faults({"oneOf": [{"minimum": 0}, {"maximum": 9}]}, 1)[0]
    assert "(not)" in faults({"not": {"type": "integer"}}, 1)[0]


def test_a_value_without_a_name_is_told_by_what_lies_below_it():
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}, "required": ["b"]}
    assert [str(e) for e in validate_value({"type": "integer"}, "x")] == [
        ': Invalid value: "string":  in body must be of type integer: "string"'
    ]
    assert [str(e) for e in validate_value(schema, {"a": ["x"]})] == [
        "b: Required value",
        'a[0]: Invalid value: "string": a[0] in body must be of type integer: "string"',
    ]
