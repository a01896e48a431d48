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


def test_rules_that_hold_say_nothing():
    assert check(RANGE, {"spec": {"low": 1, "high": 2}}) == ([], [])
    assert check({"type": "object"}, {}) == ([], [])


def test_a_rule_that_fails_is_told_at_its_place():
    assert check(RANGE, {"spec": {"low": 3, "high": 2}})[0] == [
        "spec: Invalid value: failed rule: self.low <= self.high"
    ]


@pytest.mark.parametrize(
    ("more", "told"),
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
def test_what_a_rule_tells(more, told):
    schema = spec(**ruled(rule("self.low <= self.high", **more), properties={"low": NUMBER, "high": NUMBER}))
    assert check(schema, {"spec": {"low": 3, "high": 2}})[0] == [told]


def test_rules_of_the_whole_object_have_no_path():
    schema = ruled(rule("self.metadata.name == 'a'"), type="object")
    assert check(schema, {"metadata": {"name": "b"}})[0] == [
        "<nil>: Invalid value: failed rule: self.metadata.name == 'a'"
    ]


def test_rules_without_a_value_say_why():
    assert check(RANGE, {"spec": {"low": 3}})[0] == [
        'spec: Invalid value: "object": no such key: high evaluating rule: self.low <= self.high'
    ]
    schema = spec(properties={"p": ruled(rule("self > 1"), **{"x-kubernetes-int-or-string": True})})
    told = "call arguments did not match a supported operator, function or macro signature for rule: self > 1"
    assert check(schema, {"spec": {"p": "a"}})[0] == [f"spec.p: Invalid value: \"\": 'no such overload': {told}"]


def test_transition_rules_need_an_old_value():
    schema = spec(properties={"n": ruled(rule("self >= oldSelf"), **NUMBER)})
    assert check(schema, {"spec": {"n": 1}})[0] == []
    assert check(schema, {"spec": {"n": 1}}, {"spec": {}})[0] == []
    assert check(schema, {"spec": {"n": 1}}, {"spec": {"n": 2}})[0] == [
        "spec.n: Invalid value: 1: failed rule: self >= oldSelf"
    ]


def test_an_optional_old_value_may_be_missing():
    text = "oldSelf.hasValue() || self == 1"
    schema = spec(properties={"n": ruled(rule(text, optionalOldSelf=True), **NUMBER)})
    assert check(schema, {"spec": {"n": 1}})[0] == []
    assert check(schema, {"spec": {"n": 2}})[0] == [f"spec.n: Invalid value: 2: failed rule: {text}"]
    assert check(schema, {"spec": {"n": 2}}, {"spec": {"n": 3}})[0] == []


def test_items_with_keys_are_compared_with_their_old_selves():
    item = ruled(rule("self.v >= oldSelf.v"), type="object", properties={"k": {"type": "string"}, "v": NUMBER})
    lists = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    schema = spec(properties={"l": {"type": "array", "items": item, **lists}})
    old = {"spec": {"l": [{"k": "a", "v": 2}, {"k": "b", "v": 1}]}}
    new = {"spec": {"l": [{"k": "b", "v": 2}, {"k": "a", "v": 1}, {"k": "c", "v": 0}]}}
    assert check(schema, new, old)[0] == ["spec.l[1]: Invalid value: failed rule: self.v >= oldSelf.v"]


def test_values_of_maps_have_their_keys_as_paths():
    schema = spec(properties={"m": {"type": "object", "additionalProperties": ruled(rule("self > 0"), **NUMBER)}})
    assert check(schema, {"spec": {"m": {"a": 0, "b": 1, "c": None}}})[0] == [
        "spec.m[a]: Invalid value: 0: failed rule: self > 0"
    ]


def test_what_did_not_change_only_warns():
    schema = spec(properties={"n": ruled(rule("self > 5"), **NUMBER), "m": NUMBER})
    told = "spec.n: Invalid value: {}: failed rule: self > 5"
    assert check(schema, {"spec": {"n": 1, "m": 2}}, {"spec": {"n": 1, "m": 1}}) == ([], [told.format(1)])
    assert check(schema, {"spec": {"n": 2}}, {"spec": {"n": 1}}) == ([told.format(2)], [])


def test_objects_that_are_wrong_otherwise_are_not_held_against_rules():
    found = check(RANGE, {"spec": {}}, None, [field.required("spec.low")])[0]
    assert found[1].startswith("<nil>: Invalid value: null: some validation rules were not checked")
    only_invalid = check(RANGE, {"spec": {"low": 1, "high": 2}}, None, [field.invalid("spec.low", 1, "odd")])[0]
    assert len(only_invalid) == 1


def test_the_rules_of_one_object_have_one_budget(monkeypatch):
    monkeypatch.setattr("steersman.apiserver.kinds.apiextensions.customresourcedefinition.object_rules._BUDGET", 1000)
    items = {"type": "array", "items": ruled(rule("[1, 2, 3].all(x, x > 0)"), **NUMBER)}
    found = check(spec(properties={"l": items}), {"spec": {"l": [1] * 100}})[0]
    told = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert [text.partition(": ")[2] for text in found] == [f'Invalid value: "integer": {told}']
