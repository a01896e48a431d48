"""Random scenarios of DaemonSets: each eligible node ends up with one Pod."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.daemonset import Daemonset
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_daemonset_scenario_converges(seed):
    await play(Daemonset(), seed)
