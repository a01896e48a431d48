"""Random scenarios of Nodes: each has its CIDRs, and no two Nodes share one."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.ranges import Ranges


@pytest.mark.parametrize("seed", range(5))
async def test_ranges_scenario_converges(seed):
    await play(Ranges(), seed)
