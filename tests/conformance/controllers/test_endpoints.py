"""Random scenarios of Services and pods: endpoints converge to the pods."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.endpoints import Endpoints
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_endpoints_scenario_converges(seed):
    await play(Endpoints(), seed)
