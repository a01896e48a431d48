from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named

from steersman.apiserver.kinds.policy.poddisruptionbudget.strategy import PodDisruptionBudgetStrategy

STRATEGY = PodDisruptionBudgetStrategy()
BUDGET = named(spec={"minAvailable": 1})


def test_a_change_needs_the_version_it_is_based_on():
    assert STRATEGY.allow_unconditional_update is False


def test_a_new_budget_allows_nothing_until_it_has_been_counted():
    new = edited(BUDGET, {"status.disruptionsAllowed": 5})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["status"] == {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    }


def test_a_status_write_keeps_the_spec():
    new = edited(BUDGET, {"spec.minAvailable": 9, "status.disruptionsAllowed": 1})
    STRATEGY.prepare_for_status_update(CONTEXT, new, BUDGET)
    assert (new["spec"], new["status"]) == (BUDGET["spec"], {"disruptionsAllowed": 1})


@pytest.mark.parametrize(("name", "is_fine"), [("A_b", True), ("a/b", False)])
def test_any_part_of_a_path_is_a_name(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine


@pytest.mark.parametrize(
    ("spec", "shown"), [({"minAvailable": 0}, ["0", "N/A"]), ({"maxUnavailable": "50%"}, ["N/A", "50%"])]
)
def test_the_row_shows_the_limit(spec, shown):
    assert STRATEGY.cells(named(spec=spec, status={"disruptionsAllowed": 2}), NOW) == ["a", *shown, 2, "60s"]
