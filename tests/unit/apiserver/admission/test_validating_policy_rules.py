from __future__ import annotations

from types import SimpleNamespace

import pytest

from steersman.apiserver.admission import validating_policy_rules
from steersman.apiserver.admission.validating_policy_input import authorizer_variables
from steersman.apiserver.admission.validating_policy_rules import (
    CONDITIONS_BUDGET,
    Conditions,
    Outcome,
    ValidatingRules,
)
from steersman.apiserver.authz.interface import ALLOW
from steersman.apiserver.request import UserInfo
from steersman.cel.evaluator import Evaluated

CONDITION = {"name": "a", "expression": "object.a == 1"}


def rules(*expressions, **spec):
    return ValidatingRules({"validations": [{"expression": text} for text in expressions], **spec})


def test_every_validation_is_evaluated():
    decisions = rules("true", "false", "object.x").validate({"object": {}}).decisions
    assert [decision.denied for decision in decisions] == [False, True, True]
    assert decisions[1].message == "failed expression: false"
    assert decisions[2].message == "compilation error: must evaluate to bool but got dyn"


def test_unmatched_conditions_skip_validations():
    outcome = rules("false", matchConditions=[CONDITION]).validate({"object": {"a": 2}})
    assert outcome == Outcome(conditions=Conditions(hold=False))


@pytest.mark.parametrize(
    ("obj", "policy", "holds"),
    [
        ({"a": 1, "b": 1}, "Fail", True),
        ({"a": 2}, "Fail", False),
        ({"b": 2}, "Fail", False),
        ({"a": 1}, "Ignore", False),
    ],
)
def test_one_false_match_condition_skips_the_policy(obj, policy, holds):
    conditions = [CONDITION, {"name": "b", "expression": "object.b == 1"}]
    result = rules(matchConditions=conditions, failurePolicy=policy).evaluate_conditions({"object": obj})
    assert (result.hold, result.failure) == (holds, "")


def test_failing_match_condition_denies():
    conditions = [CONDITION, {"name": "b", "expression": "object.b == 1"}]
    policy = rules("true", matchConditions=conditions, failurePolicy="Fail")
    result = policy.evaluate_conditions({"object": {}})
    assert "a == 1' resulted in error: no such key: a, expression 'object" in result.failure
    assert (result.hold, result.errors) == (False, 2)
    assert policy.validate({"object": {}}).decisions[0].denied


def test_errors_of_match_conditions_count_up_to_the_first_false_one():
    conditions = [
        {"name": name, "expression": text} for name, text in (("a", "object.x"), ("b", "false"), ("c", "object.x"))
    ]
    assert rules(matchConditions=conditions).evaluate_conditions({"object": {}}) == Conditions(hold=False, errors=1)


def test_match_conditions_are_timed():
    times = iter((1.0, 3.5))
    result = rules(matchConditions=[CONDITION]).evaluate_conditions({"object": {"a": 1}}, lambda: next(times))
    assert result == Conditions(hold=True, seconds=2.5)
    assert rules().evaluate_conditions({}) is None


def test_match_conditions_use_results_of_equal_expressions_at_their_cost():
    policy = rules(matchConditions=[{"name": "a", "expression": "object.a == 1"}])
    results: dict[str, Evaluated] = {}
    assert policy.evaluate_conditions({"object": {"a": 1}}, results=results).hold
    assert [result.value for result in results.values()] == [True]
    results["object.a == 1"] = Evaluated(False, None, 1)
    assert not policy.evaluate_conditions({"object": {"a": 1}}, results=results).hold
    results["object.a == 1"] = Evaluated(True, None, CONDITIONS_BUDGET + 1)
    assert "cost budget" in policy.evaluate_conditions({"object": {"a": 1}}, results=results).failure


@pytest.mark.interpreted
def test_expressions_share_a_cost_budget(monkeypatch):
    monkeypatch.setattr(validating_policy_rules, "BUDGET", 10)
    decisions = rules("true", "[1, 2, 3].all(x, x > 0)", "true").validate({}).decisions
    assert [decision.message for decision in decisions] == [
        "validation failed due to running out of cost budget, no further validation rules will be run"
    ]


def test_audit_annotations_must_be_non_empty_strings():
    notes = [{"key": key, "valueExpression": text} for key, text in (("a", "' x '"), ("b", "' '"), ("c", "null"))]
    assert rules(auditAnnotations=notes).validate({}).annotations == (("a", "x"),)


@pytest.mark.interpreted
def test_message_expressions_share_the_budget_of_validations(monkeypatch):
    costly = "[1, 2, 3].all(x, x > 0) ? 'costly' : ''"
    validations = [
        {"expression": "object.x"},
        {"expression": "true"},
        {"expression": "false", "messageExpression": costly},
    ]
    policy = ValidatingRules({"validations": validations})
    assert [decision.message for decision in policy.validate({"object": {}}).decisions][1:] == ["", "costly"]
    monkeypatch.setattr(validating_policy_rules, "BUDGET", 10)
    decisions = policy.validate({"object": {}}).decisions
    text = "failed messageExpression: validation failed due to running out of cost budget, no further validation rules will be run"
    assert [decision.message for decision in decisions] == [
        "compilation error: must evaluate to bool but got dyn",
        text,
        text,
    ]
    assert all(decision.denied for decision in decisions)


@pytest.mark.interpreted
@pytest.mark.parametrize(("policy", "is_denied"), [("Fail", True), ("Ignore", False)])
def test_match_conditions_have_a_smaller_cost_budget(monkeypatch, policy, is_denied):
    monkeypatch.setattr(validating_policy_rules, "CONDITIONS_BUDGET", 10)
    conditions = [
        {"name": "false", "expression": "false"},
        {"name": "costly", "expression": "[1, 2, 3].all(x, x > 0)"},
    ]
    outcome = rules("true", matchConditions=conditions, failurePolicy=policy).validate({"object": {}})
    messages = [decision.message for decision in outcome.decisions]
    text = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert messages == ([text] if is_denied else [])


def authorized(**more):
    """Return a policy whose variable asks the authorizer, and its predefined variables."""
    variables = [{"name": "x", "expression": "authorizer.path('/x').check('get').allowed() ? 'yes' : 'no'"}]
    around = authorizer_variables(SimpleNamespace(**WRITE), SimpleNamespace(authorize=lambda user, info: ALLOW))
    return rules(variables=variables, **more), around


WRITE = {
    "resource": SimpleNamespace(group="", name="pods"),
    "subresource": "",
    "namespace": "default",
    "name": "a",
    "user": UserInfo("tester"),
}


@pytest.mark.interpreted  # attributes of another class
def test_messages_have_no_authorizer():
    validation = {"expression": "variables.x == 'no'", "messageExpression": "variables.x", "message": "plain"}
    policy, around = authorized(validations=[validation])
    assert [decision.message for decision in policy.validate(around).decisions] == ["plain"]


@pytest.mark.interpreted  # attributes of another class
def test_audit_annotations_have_no_authorizer():
    policy, around = authorized(auditAnnotations=[{"key": "a", "valueExpression": "variables.x"}])
    [error] = policy.validate(around).annotation_errors
    assert error.endswith('composited variable "x" fails to evaluate: no such attribute(s): authorizer')
