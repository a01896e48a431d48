from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named

from steersman.apiserver.kinds.policy.poddisruptionbudget.strategy import PodDisruptionBudgetStrategy

STRATEGY = PodDisruptionBudgetStrategy()
BUDGET = named(spec={"minAvailable": 1})


def test_update_requires_resource_version():
    assert STRATEGY.allow_unconditional_update is False


def test_prepare_for_create_allows_no_disruptions():
    new = edited(BUDGET, {"status.disruptionsAllowed": 5})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["status"] == {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    }


def test_prepare_for_status_update_keeps_spec():
    new = edited(BUDGET, {"spec.minAvailable": 9, "status.disruptionsAllowed": 1})
    STRATEGY.prepare_for_status_update(CONTEXT, new, BUDGET)
    assert (new["spec"], new["status"]) == (BUDGET["spec"], {"disruptionsAllowed": 1})


@pytest.mark.parametrize(("name", "is_fine"), [("A_b", True), ("a/b", False)])
def test_name_errors_accept_any_path_segment(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine


@pytest.mark.parametrize(
    ("spec", "shown"), [({"minAvailable": 0}, ["0", "N/A"]), ({"maxUnavailable": "50%"}, ["N/A", "50%"])]
)
def test_cells_show_limit(spec, shown):
    assert STRATEGY.cells(named(spec=spec, status={"disruptionsAllowed": 2}), NOW) == ["a", *shown, 2, "60s"]
