"""Random scenarios of ReplicationControllers and ReplicaSets: each ends up with its replicas."""

from __future__ import annotations

import pytest
from tests.conformance.controllers.harness import play
from tests.conformance.controllers.replication import Replication


@pytest.mark.parametrize("seed", range(10))
async def test_replication_scenario_converges(seed):
    await play(Replication(), seed)
