"""Random scenarios of claims, volumes and classes: none is deleted while in use, none is kept when unused."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.protection import Protection


@pytest.mark.parametrize("seed", range(10))
async def test_protection_scenario_converges(seed):
    await play(Protection(), seed)
