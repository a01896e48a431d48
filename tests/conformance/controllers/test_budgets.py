"""Random scenarios of pods and their controllers: budget statuses converge."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.budgets import Budgets
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_budgets_scenario_converges(seed):
    await play(Budgets(), seed)
