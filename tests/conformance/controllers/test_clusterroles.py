"""Random scenarios of ClusterRoles: aggregated roles have exactly the selected rules."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.clusterroles import Clusterroles
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_clusterroles_scenario_converges(seed):
    await play(Clusterroles(), seed)
