"""Random scenarios of Deployments: every rollout completes."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.deployment import Deployment
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(10))
async def test_deployment_scenario_converges(seed):
    await play(Deployment(), seed)
