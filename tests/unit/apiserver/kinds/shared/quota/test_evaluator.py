from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import NOW, named

from steersman.apiserver.kinds.shared.quota.amounts import texts
from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator, is_pertinent, is_selected, scope_selectors


def quota(hard, **spec):
    return {"metadata": {"name": "q"}, "spec": spec, "status": {"hard": hard}}


def test_objects_count_by_number():
    assert texts(Evaluator("deployments.apps").usage(named(), NOW)) == {"count/deployments.apps": "1"}
    assert texts(Evaluator("secrets").usage(named(), NOW)) == {"count/secrets": "1", "secrets": "1"}


def test_a_quota_of_other_things_does_not_concern_them():
    evaluator = Evaluator("secrets")
    assert evaluator.matching({"pods": "1", "secrets": "1", "count/secrets": "2"}) == ["count/secrets", "secrets"]
    assert is_pertinent(quota({"secrets": "1"}), evaluator, named())
    assert not is_pertinent(quota({"pods": "1"}), evaluator, named())
    assert not is_pertinent({"metadata": {"name": "q"}}, evaluator, named())


def test_scopes_have_one_form():
    selector = {"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}
    both = quota({}, scopes=["BestEffort"], scopeSelector={"matchExpressions": [selector]})
    assert scope_selectors(both) == [{"scopeName": "BestEffort", "operator": "Exists"}, selector]


def test_kinds_without_scopes_are_in_none():
    assert not is_pertinent(quota({"secrets": "1"}, scopes=["BestEffort"]), Evaluator("secrets"), named())


@pytest.mark.parametrize(
    ("operator", "values", "value", "selected"),
    [
        ("Exists", None, "a", True),
        ("Exists", None, None, False),
        ("DoesNotExist", None, None, True),
        ("DoesNotExist", None, "a", False),
        ("In", ["a"], "a", True),
        ("In", ["a"], None, False),
        ("NotIn", ["a"], "a", False),
        ("NotIn", ["a"], "b", True),
        ("NotIn", ["a"], None, True),
        ("Other", ["a"], "a", False),
    ],
)
def test_selectors(operator, values, value, selected):
    assert is_selected({"operator": operator, "values": values}, value) is selected
