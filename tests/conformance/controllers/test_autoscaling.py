"""Whatever happened to loads and autoscalers: once it stops, targets have the replicas that they need."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.autoscaling import Autoscaling
from tests.conformance.controllers.harness import play


@pytest.mark.parametrize("seed", range(5))
async def test_it_becomes_as_the_rules_say(seed):
    await play(Autoscaling(), seed)
