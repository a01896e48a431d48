"""Random scenarios of pods and ResourceClaims: each pod gets its claims, and none is left over."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.claims import Claims
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_claims_scenario_converges(seed):
    await play(Claims(), seed)
