from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CREATED, SELECTOR, edited, named, texts

from steersman.apiserver.kinds.policy.poddisruptionbudget.validation import validate_budget, validate_budget_status

VALID = named(spec={"minAvailable": 1, "selector": SELECTOR})
BAD_VALUE = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not valid"]}]}
CONDITION = {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "lastTransitionTime": CREATED}


@pytest.mark.parametrize(
    "spec", [{}, {"minAvailable": "100%"}, {"maxUnavailable": 500}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}]
)
def test_validate_budget_accepts_valid_budgets(spec):
    assert texts(validate_budget(named(spec=spec))) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (
            {"minAvailable": 1, "maxUnavailable": 1},
            (
                'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: '
                "minAvailable and maxUnavailable cannot be both set"
            ),
        ),
        ({"minAvailable": -1}, "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"),
        ({"maxUnavailable": "101%"}, 'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%'),
        (
            {"unhealthyPodEvictionPolicy": "Never"},
            (
                'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": '
                'supported values: "AlwaysAllow", "IfHealthyBudget"'
            ),
        ),
        (
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
            (
                "spec.selector.matchExpressions[0].values: Forbidden: "
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            ),
        ),
    ],
)
def test_validate_budget_rejects_invalid_fields(spec, fault):
    assert texts(validate_budget(named(spec=spec))) == [fault]


@pytest.mark.parametrize(("old_selector", "count"), [(SELECTOR, 1), (BAD_VALUE, 0)])
def test_validate_budget_accepts_invalid_selector_values_of_old_budget(old_selector, count):
    old = edited(VALID, {"spec.selector": old_selector})
    assert len(texts(validate_budget(edited(VALID, {"spec.selector": BAD_VALUE}), old))) == count


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        ({"conditions": [CONDITION], "disruptionsAllowed": 1}, []),
        ({"expectedPods": -1}, ["status.expectedPods: Invalid value: -1: must be greater than or equal to 0"]),
        ({"conditions": [CONDITION, CONDITION]}, ['status.conditions[1].type: Duplicate value: "DisruptionAllowed"']),
        (
            {"conditions": [{**CONDITION, "status": "Maybe"}]},
            ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'],
        ),
        ({"conditions": [{**CONDITION, "reason": ""}]}, ["status.conditions[0].reason: Required value: must be set"]),
    ],
)
def test_validate_budget_status_checks_counts_and_conditions(status, faults):
    assert texts(validate_budget_status({**VALID, "status": status})) == faults
