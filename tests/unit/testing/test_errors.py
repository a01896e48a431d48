"""Public errors of clusters."""

import pytest

import steersman.testing
from steersman.testing.clock import SteadyClock, VirtualClock
from steersman.testing.embedded import EmbeddedCluster


async def test_embedded_cluster_raises_the_public_error():
    with pytest.raises(steersman.testing.ClusterError, match="not running"):
        EmbeddedCluster(clock="virtual").client()


@pytest.mark.parametrize("clock", [VirtualClock(), SteadyClock()])
async def test_clock_error_is_a_cluster_error(clock):
    with pytest.raises(steersman.testing.ClusterError):
        await clock.advance(-1)
