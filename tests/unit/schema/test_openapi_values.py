"""Objects against their schema."""

import pytest

from steersman.schema.openapi_acceptance import Acceptor
from steersman.schema.openapi_values import validate, validate_value


def faults(schema: dict, value: object) -> list[str]:
    errors = validate({"type": "object", "properties": {"spec": schema}}, {"spec": value})
    return [str(fault.error) for fault in errors]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "one", 'spec: Invalid value: "string": spec in body must be of type integer: "string"'),
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
    ],
)
def test_validate_reports_errors_with_upstreams_texts(schema, value, message):
    assert faults(schema, value) == [message]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, 1),
        ({"type": "integer"}, 2.0),
        ({"type": "integer"}, 2**63 - 1),
        ({"type": "integer"}, -(2**63)),
        ({"x-kubernetes-int-or-string": True}, "50%"),
        ({"x-kubernetes-int-or-string": True}, 5),
        ({"type": "string", "nullable": True}, None),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1),
        ({"type": "array", "items": {"type": "string"}}, ["a"]),
    ],
)
def test_validate_accepts_valid_objects(schema, value):
    assert faults(schema, value) == []


def test_validate_reports_all_errors():
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
    assert len(faults(schema, {"a": 1, "b": "x"})) == 2


def test_validate_bounds_the_number_of_errors():
    assert len(faults({"type": "array", "items": {"type": "string"}}, [1] * 1000)) == 100


def test_validate_of_any_of_reports_the_best_alternative():
    both = {"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}
    assert faults({"type": "object", "anyOf": [{"required": ["c"]}, both]}, {"a": "x"}) == [
        ': Invalid value: "": "spec" must validate at least one schema (anyOf)',
        "spec.b: Required value",
    ]
    assert faults({"oneOf": [{"minimum": 0}, {"maximum": 9}]}, 1) == [
        ': Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]
    assert faults({"oneOf": [{"minimum": 5}, {"maximum": 0}]}, 1) == [
        ': Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid',
        "spec: Invalid value: 1: spec in body should be greater than or equal to 5",
    ]
    assert faults({"allOf": [{"minimum": 5}, {"maximum": 9}]}, 1) == [
        "spec: Invalid value: 1: spec in body should be greater than or equal to 5",
        ': Invalid value: "": "spec" must validate all the schemas (allOf)',
    ]
    assert faults({"not": {"type": "integer"}}, 1) == [': Invalid value: "": "spec" must not validate the schema (not)']


@pytest.mark.parametrize(
    ("schema", "value", "messages"),
    [
        (
            {"type": "string", "format": "date"},
            "x",
            ['spec: Invalid value: "x": spec in body must be of type date: "x"'],
        ),
        ({"type": "string", "format": "made-up"}, "x", []),
        (
            {"type": "boolean", "format": "date"},
            "2020-01-01",
            ['spec: Invalid value: "string": spec in body must be of type boolean: "string"'],
        ),
        (
            {"type": "string", "format": "date"},
            5,
            ['spec: Invalid value: "int64": spec in body must be of type date: "int64"'],
        ),
        (
            {"type": "string", "enum": ["a"]},
            5,
            [
                'spec: Invalid value: "integer": spec in body must be of type string: "integer"',
                'spec: Unsupported value: 5: supported values: "a"',
            ],
        ),
        ({"type": "number", "enum": [1.0]}, 1, []),
        (
            {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
            "A",
            ['spec: Invalid value: "A": spec in body should be at least 2 chars long'],
        ),
        (
            {"type": "string", "pattern": "^a$"},
            "a\n",
            ["spec: Invalid value: \"a\\n\": spec in body should match '^a$'"],
        ),
        (
            {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            ["a", "a", "a"],
            ['spec[1]: Duplicate value: "a"'],
        ),
        (
            {"type": "object", "minProperties": 2, "required": ["a"]},
            {},
            ["spec: Invalid value: 0: spec in body should have at least 2 properties"],
        ),
        (
            {"type": "integer"},
            10**19,
            [
                'spec: Invalid value: "number": spec in body must be of type integer: "number"',
                ': Invalid value: "": Checked value must be of type integer (default format) in spec',
            ],
        ),
    ],
)
def test_validate_applies_checks_by_json_type(schema, value, messages):
    assert faults(schema, value) == messages


def test_validate_value_has_relative_paths():
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}, "required": ["b"]}
    assert [str(e) for e in validate_value({"type": "integer"}, "x")] == [
        ': Invalid value: "string":  in body must be of type integer: "string"'
    ]
    assert [str(e) for e in validate_value(schema, {"a": ["x"]})] == [
        'a[0]: Invalid value: "string": a[0] in body must be of type integer: "string"',
        "b: Required value",
    ]


INT32 = {"type": "integer", "format": "int32"}


@pytest.mark.parametrize(
    ("schema", "value", "messages"),
    [
        (INT32, 2**31 - 1, []),
        (INT32, 2**31, ["Checked value must be of type integer with format int32 in spec"]),
        (
            {**INT32, "maximum": 2**32 - 1},
            5,
            ["Maximum boundary value must be of type integer with format int32 in spec"],
        ),
        (
            {**INT32, "minimum": -(2**40)},
            5,
            ["Minimum boundary value must be of type integer with format int32 in spec"],
        ),
        (
            {"type": "number", "format": "float"},
            1e39,
            ["Checked value must be of type number with format float in spec"],
        ),
        ({"type": "number", "format": "int32"}, 2**40, []),
        ({"type": "integer", "format": "uint8"}, 2**40, []),
        ({"type": "integer", "maximum": 2**70}, 5, []),
    ],
)
def test_validate_applies_number_formats_to_bounds(schema, value, messages):
    assert faults(schema, value) == [f': Invalid value: "": {message}' for message in messages]


def test_validate_reports_the_format_of_a_mistyped_number():
    assert faults(INT32, 1.5) == [
        'spec: Invalid value: "float64": spec in body must be of type int32: "float64"',
        ': Invalid value: "": Checked value must be of type integer with format int32 in spec',
    ]
    assert faults(INT32, "x") == ['spec: Invalid value: "string": spec in body must be of type integer: "string"']


@pytest.mark.parametrize(
    ("pattern", "value", "reason"),
    [
        ("(?=a)", "a", "but pattern is invalid: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("[ab]{900}x", "a" * 400_000, "but the text is too long for the pattern"),
    ],
)
def test_validate_rejects_values_with_undecidable_patterns(pattern, value, reason):
    (fault,) = faults({"type": "string", "pattern": pattern}, value)
    assert fault.endswith(f"spec in body should match '{pattern}, {reason}'")


def test_validate_matches_nested_repetition_in_linear_time():
    schema = {"type": "string", "pattern": "^(a+)+$"}
    assert faults(schema, "a" * 5_000) == []
    assert len(faults(schema, "a" * 5_000 + "b")) == 1


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^(([a-z0-9])+\.?)+$", "a" * 100_000 + "!"),
        (r"((x+)x+){10}y", "x" * 100_000),
        (r"^a*a*a*a*a*b$", "a" * 100_000),
    ],
)
def test_patterns_that_backtracking_engines_never_finish_are_answered(pattern, text):
    [message] = faults({"type": "string", "pattern": pattern}, text)
    assert message.endswith(f"spec in body should match '{pattern}'")
    assert not Acceptor({"type": "string", "pattern": pattern}).accepts(text)
