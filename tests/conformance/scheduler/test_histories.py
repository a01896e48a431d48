"""Random scenarios: after the faults stop, every feasible pod is bound and no node is overcommitted."""

from __future__ import annotations

import pytest
from tests.conformance.scheduler.harness import play


@pytest.mark.parametrize("seed", range(8))
async def test_scheduler_binds_every_feasible_pod(seed):
    await play(seed)
