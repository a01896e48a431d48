"""Random scenarios of legacy tokens: exactly the unused ones are invalidated and deleted."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.legacytokens import Legacytokens


@pytest.mark.parametrize("seed", range(10))
async def test_legacytokens_scenario_converges(seed):
    await play(Legacytokens(), seed)
