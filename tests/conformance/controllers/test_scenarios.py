"""Random scenarios of each controller converge. Long runs: ``scripts/controller_histories.py --scenario NAME``."""

from __future__ import annotations

from itertools import product

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.scenarios import NAMES, scenario

#: Histories of each scenario.
HISTORIES = 3


@pytest.mark.parametrize(("name", "seed"), [*product(NAMES, range(HISTORIES)), ("job", 1068)])
async def test_scenario_converges(name, seed):
    await play(scenario(name), seed)
