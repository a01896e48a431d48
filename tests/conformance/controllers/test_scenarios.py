"""Random histories of each controller converge. Long runs: ``scripts/histories.py controllers --seeds 200``."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.scenarios import NAMES, scenario_type
from tests.conformance.histories import play_scenario


@pytest.mark.parametrize("name", NAMES)
def test_scenario_converges(name, tmp_path):
    play_scenario(scenario_type(name), tmp_path, seeds=range(2))
