from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import NOW, named

from steersman.apiserver.kinds.shared.quota.amounts import texts
from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator, is_pertinent, is_selected, scope_selectors


def quota(hard, **spec):
    return {"metadata": {"name": "q"}, "spec": spec, "status": {"hard": hard}}


def test_usage_counts_objects():
    assert texts(Evaluator("deployments.apps").usage(named(), NOW)) == {"count/deployments.apps": "1"}
    assert texts(Evaluator("secrets").usage(named(), NOW)) == {"count/secrets": "1", "secrets": "1"}


def test_matching_skips_other_resources():
    evaluator = Evaluator("secrets")
    assert evaluator.matching({"pods": "1", "secrets": "1", "count/secrets": "2"}) == ["count/secrets", "secrets"]
    assert is_pertinent(quota({"secrets": "1"}), evaluator, named())
    assert not is_pertinent(quota({"pods": "1"}), evaluator, named())
    assert not is_pertinent({"metadata": {"name": "q"}}, evaluator, named())


def test_scope_selectors_normalizes_scopes():
    selector = {"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}
    both = quota({}, scopes=["BestEffort"], scopeSelector={"matchExpressions": [selector]})
    assert scope_selectors(both) == [{"scopeName": "BestEffort", "operator": "Exists"}, selector]


def test_is_in_scope_is_false_for_kinds_without_scopes():
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
def test_is_selected_by_operator(operator, values, value, selected):
    assert is_selected({"operator": operator, "values": values}, value) is selected
