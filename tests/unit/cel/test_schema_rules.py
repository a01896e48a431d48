"""Validation rules of custom resources: schema types, values and cost limits."""

from __future__ import annotations

import pytest

from steersman.cel.field_use import field_use
from steersman.cel.openapi import WHOLE, converter, declare, escape
from steersman.cel.schema_rules import compile_rules

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "maxLength": 10},
                "if": {"type": "integer"},
                "a-b": {"type": "number"},
                "when": {"type": "string", "format": "date-time"},
                "wait": {"type": "string", "format": "duration"},
                "data": {"type": "string", "format": "byte"},
                "port": {"x-kubernetes-int-or-string": True},
                "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                "parts": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"k": TEXT, "v": {"type": "integer"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                },
                "free": {"x-kubernetes-preserve-unknown-fields": True},
                "more": {"type": "object", "additionalProperties": {"type": "number"}},
            },
        }
    },
}


def rule(text, **more):
    return compile_rules([{"rule": text, **more}], declare(SCHEMA, is_resource=True))[0]


def holds(text, obj, old=None):
    """Return the result of a rule, with values that are converted wholly, and as far as the rule reads them."""
    program = rule(text).program
    results = []
    for use in (WHOLE, field_use([program.tree], ("self", "oldSelf"))):
        convert = converter(SCHEMA, use) or (lambda tree: tree)
        result = program.evaluate({"self": convert(obj), "oldSelf": convert(old)})
        results.append((str(result.error or ""), result.value, result.cost))
    assert results[0] == results[1]
    return results[0][0] or results[0][1]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("self.spec.__if__ == 1", {"if": 1}),
        ("self.spec.a__dash__b == 2.0", {"a-b": 2}),
        ("self.spec.when > timestamp('2020-01-01T00:00:00Z')", {"when": "2021-01-01T00:00:00Z"}),
        ("self.spec.wait == duration('90s')", {"wait": "1m30s"}),
        ("self.spec.data == b'a'", {"data": "YQ=="}),
        ("type(self.spec.port) == int && self.spec.port == 80", {"port": 80}),
        ("self.spec.tags == ['b', 'a']", {"tags": ["a", "b"]}),
        ("self.spec.tags + ['a', 'c'] == ['a', 'b', 'c']", {"tags": ["a", "b"]}),
        ("self.spec.parts.all(p, p.v > 0)", {"parts": [{"k": "a", "v": 1}]}),
        ("self.spec.more.x == 1.0", {"more": {"x": 1}}),
        ("self.metadata.name == 'n' && self.kind == 'K'", {}),
    ],
)
def test_rules_hold_for_schema_values(text, spec):
    assert holds(text, {"kind": "K", "metadata": {"name": "n"}, "spec": spec}) is True


def test_map_lists_are_equal_in_any_order():
    one, other = ({"spec": {"parts": parts}} for parts in ([{"k": "a"}, {"k": "b"}], [{"k": "b"}, {"k": "a"}]))
    assert holds("self.spec.parts == oldSelf.spec.parts", one, other) is True


def test_undeclared_fields_are_not_accessible():
    assert "undefined field 'free'" in rule("has(self.spec.free)").error
    assert "undefined field 'labels'" in rule("has(self.metadata.labels)").error


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("a", "a"),
        ("if", "__if__"),
        ("a.b", "a__dot__b"),
        ("a/b", "a__slash__b"),
        ("a__b", "a__underscores__b"),
        ("1a", ""),
    ],
)
def test_escape_property_names(name, escaped):
    assert escape(name) == escaped


def test_rule_reports_compile_errors():
    assert rule("1").error == "cel expression must evaluate to a bool"
    assert rule("true", messageExpression="1").message_error == "messageExpression must evaluate to a string"
    assert rule("true", messageExpression="x").message_error.startswith("messageExpression compilation failed: ERROR")
    assert rule("oldSelf.spec == self.spec").uses_old
    assert not rule("oldSelf.hasValue() || true", optionalOldSelf=True).error
    assert rule(" ").program is None


def test_rule_cost_grows_with_schema_bounds():
    assert rule("self.spec.name == 'a'").max_cost < 10
    assert rule("self.spec.tags.all(t, t.startsWith('a'))").max_cost > 10_000_000 // 3
    assert rule("self.spec.tags.all(t, self.spec.tags.all(u, t != u))").max_cost > 10**12


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1 day", 86400), ("2 weeks 3hr", 1220400), ("5 Minutes", 300), ("1d", 86400)],
)
def test_durations_are_those_of_go_and_scala(text, seconds):
    convert = converter({"type": "string", "format": "duration"})
    assert convert(text).nanos == seconds * 10**9


@pytest.mark.parametrize("text", ["", "5", "5 fortnights", "999999999999999999999 days"])
def test_other_durations_stay_texts(text):
    assert converter({"type": "string", "format": "duration"})(text) == text
