from __future__ import annotations

import pytest

from steersman.apimachinery import field
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.object_rules import ObjectRules

NUMBER = {"type": "integer"}


def rule(text, **more):
    return {"rule": text, **more}


def spec(**schema):
    return {"type": "object", "properties": {"spec": {"type": "object", **schema}}}


def ruled(*rules, **schema):
    return {**schema, "x-kubernetes-validations": list(rules)}


def check(schema, obj, old=None, faults=()):
    warnings: list[str] = []
    errors = ObjectRules(schema).validate(obj, old, faults=faults, warn=warnings.append)
    return [str(error) for error in errors], warnings


RANGE = spec(**ruled(rule("self.low <= self.high"), properties={"low": NUMBER, "high": NUMBER}))


def test_validate_reports_nothing_when_rules_hold():
    assert check(RANGE, {"spec": {"low": 1, "high": 2}}) == ([], [])
    assert check({"type": "object"}, {}) == ([], [])


def test_validate_reports_violated_rule_at_its_path():
    assert check(RANGE, {"spec": {"low": 3, "high": 2}})[0] == [
        "spec: Invalid value: failed rule: self.low <= self.high"
    ]


@pytest.mark.parametrize(
    ("more", "error_texts"),
    [
        ({"message": " low first "}, "spec: Invalid value: low first"),
        ({"messageExpression": "'low is ' + string(self.low)"}, "spec: Invalid value: low is 3"),
        ({"messageExpression": "string(self.x)", "message": "m"}, "spec: Invalid value: m"),
        ({"messageExpression": "' '"}, "spec: Invalid value: failed rule: self.low <= self.high"),
        ({"fieldPath": ".low"}, "spec.low: Invalid value: failed rule: self.low <= self.high"),
        ({"reason": "FieldValueForbidden", "message": "m"}, "spec: Forbidden: m"),
        ({"reason": "FieldValueRequired", "message": "m"}, "spec: Required value: m"),
        ({"reason": "FieldValueDuplicate", "message": "m"}, "spec: Duplicate value"),
    ],
)
def test_validate_uses_message_reason_and_field_path_of_rule(more, error_texts):
    schema = spec(**ruled(rule("self.low <= self.high", **more), properties={"low": NUMBER, "high": NUMBER}))
    assert check(schema, {"spec": {"low": 3, "high": 2}})[0] == [error_texts]


def test_validate_reports_root_rules_without_path():
    schema = ruled(rule("self.metadata.name == 'a'"), type="object")
    assert check(schema, {"metadata": {"name": "b"}})[0] == [
        "<nil>: Invalid value: failed rule: self.metadata.name == 'a'"
    ]


def test_validate_reports_evaluation_errors():
    assert check(RANGE, {"spec": {"low": 3}})[0] == [
        'spec: Invalid value: "object": no such key: high evaluating rule: self.low <= self.high'
    ]
    schema = spec(properties={"p": ruled(rule("self > 1"), **{"x-kubernetes-int-or-string": True})})
    error_texts = "call arguments did not match a supported operator, function or macro signature for rule: self > 1"
    assert check(schema, {"spec": {"p": "a"}})[0] == [f"spec.p: Invalid value: \"\": 'no such overload': {error_texts}"]


def test_validate_skips_transition_rules_without_old_value():
    schema = spec(properties={"n": ruled(rule("self >= oldSelf"), **NUMBER)})
    assert check(schema, {"spec": {"n": 1}})[0] == []
    assert check(schema, {"spec": {"n": 1}}, {"spec": {}})[0] == []
    assert check(schema, {"spec": {"n": 1}}, {"spec": {"n": 2}})[0] == [
        "spec.n: Invalid value: 1: failed rule: self >= oldSelf"
    ]


def test_validate_evaluates_optional_old_self_without_old_value():
    text = "oldSelf.hasValue() || self == 1"
    schema = spec(properties={"n": ruled(rule(text, optionalOldSelf=True), **NUMBER)})
    assert check(schema, {"spec": {"n": 1}})[0] == []
    assert check(schema, {"spec": {"n": 2}})[0] == [f"spec.n: Invalid value: 2: failed rule: {text}"]
    assert check(schema, {"spec": {"n": 2}}, {"spec": {"n": 3}})[0] == []


def test_validate_correlates_map_list_items_by_key():
    item = ruled(rule("self.v >= oldSelf.v"), type="object", properties={"k": {"type": "string"}, "v": NUMBER})
    lists = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    schema = spec(properties={"l": {"type": "array", "items": item, **lists}})
    old = {"spec": {"l": [{"k": "a", "v": 2}, {"k": "b", "v": 1}]}}
    new = {"spec": {"l": [{"k": "b", "v": 2}, {"k": "a", "v": 1}, {"k": "c", "v": 0}]}}
    assert check(schema, new, old)[0] == ["spec.l[1]: Invalid value: failed rule: self.v >= oldSelf.v"]


def test_validate_reports_map_values_with_key_path():
    schema = spec(properties={"m": {"type": "object", "additionalProperties": ruled(rule("self > 0"), **NUMBER)}})
    assert check(schema, {"spec": {"m": {"a": 0, "b": 1, "c": None}}})[0] == [
        "spec.m[a]: Invalid value: 0: failed rule: self > 0"
    ]


def test_validate_warns_when_violated_value_is_unchanged():
    schema = spec(properties={"n": ruled(rule("self > 5"), **NUMBER), "m": NUMBER})
    error_texts = "spec.n: Invalid value: {}: failed rule: self > 5"
    assert check(schema, {"spec": {"n": 1, "m": 2}}, {"spec": {"n": 1, "m": 1}}) == ([], [error_texts.format(1)])
    assert check(schema, {"spec": {"n": 2}}, {"spec": {"n": 1}}) == ([error_texts.format(2)], [])


def test_validate_skips_rules_after_schema_errors():
    result = check(RANGE, {"spec": {}}, None, [field.required("spec.low")])[0]
    assert result[1].startswith("<nil>: Invalid value: null: some validation rules were not checked")
    only_invalid = check(RANGE, {"spec": {"low": 1, "high": 2}}, None, [field.invalid("spec.low", 1, "odd")])[0]
    assert len(only_invalid) == 1


def test_validate_limits_cost_of_all_rules_of_an_object():
    items = {"type": "array", "items": ruled(rule("!self.contains('b')"), type="string")}
    result = check(spec(properties={"l": items}), {"spec": {"l": ["a" * 1_000_000] * 110}})[0]
    error_texts = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert [text.partition(": ")[2] for text in result] == [f'Invalid value: "string": {error_texts}']


def test_validate_ends_with_a_message_expression_above_the_cost_limit():
    expression = "self.l.map(x, self.l.map(y, x + y).sum()).sum() > 0 ? 'a' : 'b'"
    schema = spec(
        **ruled(
            rule("false", messageExpression=expression),
            rule("false", message="later"),
            properties={"l": {"type": "array", "items": NUMBER}},
        )
    )
    errors, _ = check(schema, {"spec": {"l": [1] * 400}})
    ended = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
    assert errors == [f'spec: Invalid value: "object": {ended}: "{expression}"']
