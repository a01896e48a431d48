"""Random scenarios of Nodes: taints and pod conditions converge."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.nodelifecycle import Nodelifecycle


@pytest.mark.parametrize("seed", range(10))
async def test_nodelifecycle_scenario_converges(seed):
    await play(Nodelifecycle(), seed)
