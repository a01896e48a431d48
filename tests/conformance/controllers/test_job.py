"""Random scenarios of Jobs: all finish with correct status."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.job import Job


@pytest.mark.parametrize("seed", [*range(10), 1068])
async def test_job_scenario_converges(seed):
    await play(Job(), seed)
