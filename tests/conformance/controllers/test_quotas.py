"""Random scenarios of quotas: each status converges to the actual usage."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.quotas import Quotas


@pytest.mark.parametrize("seed", range(10))
async def test_quotas_scenario_converges(seed):
    await play(Quotas(), seed)
