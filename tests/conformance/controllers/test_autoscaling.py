"""Random scenarios of loads and autoscalers: targets converge to the required replicas."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.autoscaling import Autoscaling
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(5))
async def test_autoscaling_scenario_converges(seed):
    await play(Autoscaling(), seed)
