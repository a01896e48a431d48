"""Random scenarios of volumes and claims: matching ones are bound."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.volumes import Volumes


@pytest.mark.parametrize("seed", range(10))
async def test_volumes_scenario_converges(seed):
    await play(Volumes(), seed)
