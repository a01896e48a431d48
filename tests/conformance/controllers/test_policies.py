"""Random scenarios of admission policies: each status has the warnings of the current spec."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.policies import Policies


@pytest.mark.parametrize("seed", range(6))
async def test_policies_scenario_converges(seed):
    await play(Policies(), seed)
