"""Random scenarios of API servers: storage versions list exactly the live ones."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.storageversions import Storageversions


@pytest.mark.parametrize("seed", range(10))
async def test_storageversions_scenario_converges(seed):
    await play(Storageversions(), seed)
