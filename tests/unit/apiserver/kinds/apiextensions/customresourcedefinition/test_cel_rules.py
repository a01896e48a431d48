from __future__ import annotations

import pytest

from steersman.apimachinery import field
from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.cel_rules import has_rules, validate_rules

HERE = Path("schema")
TEXT = {"type": "string"}


def place(**schema):
    """Return a root schema with a field ``a`` of the given schema."""
    return {"type": "object", "properties": {"a": schema}}


def rules(*texts, **more):
    return [{"rule": text, **more} for text in texts]


def error_texts(schema, *faults):
    return [(e.field, e.body.partition("\n")[0]) for e in validate_rules(schema, HERE, faults)]


def test_has_rules_is_false_for_schema_without_rules():
    assert not has_rules(place(type="string"))
    assert error_texts(place(type="string")) == []


def test_validate_rules_accepts_rules_that_compile():
    schema = place(type="integer", **{"x-kubernetes-validations": rules("self > 0", "self >= oldSelf")})
    assert error_texts(schema) == []


@pytest.mark.parametrize(
    ("rule", "field_path", "text"),
    [
        ({"rule": "self > 'a'"}, "rule", "compilation failed: ERROR: <input>:1:6: found no matching overload"),
        ({"rule": "self"}, "rule", "cel expression must evaluate to a bool"),
        (
            {"rule": "true", "messageExpression": "1"},
            "messageExpression",
            "messageExpression must evaluate to a string",
        ),
        ({"rule": "true", "optionalOldSelf": True}, "optionalOldSelf", "may not be set if oldSelf is not used in rule"),
    ],
)
def test_validate_rules_rejects_invalid_rules(rule, field_path, text):
    result = error_texts(place(type="integer", **{"x-kubernetes-validations": [rule]}))
    assert [name for name, _ in result] == [f"schema.properties[a].x-kubernetes-validations[0].{field_path}"]
    assert text in result[0][1]


def test_validate_rules_counts_the_cost_of_a_message_once():
    item = {"type": "string", "x-kubernetes-validations": [{"rule": "true", "messageExpression": "self + '!'"}]}
    assert error_texts(place(type="array", items=item)) == []
    item["x-kubernetes-validations"][0]["rule"] = "(self + '!').size() > 1"
    result = error_texts(place(type="array", items=item))
    assert [name for name, _ in result][:1] == ["schema.properties[a].items.x-kubernetes-validations[0].rule"]
    assert not any(name.endswith("messageExpression") for name, _ in result)


def test_validate_rules_skips_schemas_with_other_errors():
    schema = place(type="integer", **{"x-kubernetes-validations": rules("nope")})
    assert error_texts(schema, field.required(HERE.child("properties").key("a").child("b"))) == []


def test_validate_rules_rejects_transition_rules_on_uncorrelatable_items():
    item = {"type": "string", "maxLength": 5, "x-kubernetes-validations": rules("self == oldSelf")}
    result = error_texts(place(type="array", maxItems=5, items=item))
    assert result == [
        (
            "schema.properties[a].items.x-kubernetes-validations[0].rule",
            (
                'Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema '
                "within schema.properties[a]"
            ),
        )
    ]


def test_validate_rules_rejects_rules_with_too_high_estimated_cost():
    rule = "self.all(x, self.all(y, x != y))"
    result = error_texts(place(type="array", items=TEXT, **{"x-kubernetes-validations": rules(rule)}))
    assert [body.partition(" (")[0] for _, body in result] == [
        "Forbidden: estimated rule cost exceeds budget by factor of more than 100x",
        ("Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"),
        (
            "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 "
            "schema exceeds budget by factor of more than 100x"
        ),
    ]
    bounded = place(
        type="array", maxItems=10, items={**TEXT, "maxLength": 10}, **{"x-kubernetes-validations": rules(rule)}
    )
    assert error_texts(bounded) == []


def test_validate_rules_rejects_rules_where_expressions_cannot_see_values():
    schema = place(**{"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-validations": rules("true")})
    assert error_texts(schema) == [
        (
            "schema.properties[a].x-kubernetes-validations",
            (
                "Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: "
                "unable to convert structural schema to CEL declarations"
            ),
        )
    ]
