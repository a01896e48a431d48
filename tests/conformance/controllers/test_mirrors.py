"""Random scenarios of Endpoints and Services: mirrored slices converge to the Endpoints."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.mirrors import Mirrors


@pytest.mark.parametrize("seed", range(10))
async def test_mirrors_scenario_converges(seed):
    await play(Mirrors(), seed)
