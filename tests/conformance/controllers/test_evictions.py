"""Random scenarios of Nodes and pods: exactly the pods that may not stay are deleted."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.evictions import Evictions
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_evictions_scenario_converges(seed):
    await play(Evictions(), seed)
