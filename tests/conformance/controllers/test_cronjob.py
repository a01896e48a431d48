"""Random scenarios of CronJobs: every due start creates a Job."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.cronjob import Cronjob
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_cronjob_scenario_converges(seed):
    await play(Cronjob(), seed)
