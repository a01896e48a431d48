"""Whatever happened to nodes, pods and claims: once it stops, every pod that fits is bound, and no node holds too much."""

from __future__ import annotations

import pytest
from tests.conformance.scheduler.harness import play


@pytest.mark.parametrize("seed", range(20))
async def test_every_pod_that_fits_is_bound(seed):
    await play(seed)
