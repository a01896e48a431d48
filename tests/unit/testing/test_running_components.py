"""Controllers, scheduler and nodes of an embedded cluster across restarts."""

from collections import Counter

import pytest
from tests.unit.testing.objects import config_map, deployment

from steersman.client import tree
from steersman.testing.embedded import EmbeddedCluster
from steersman.testing.errors import ClusterError
from steersman.testing.faults import Fault

PODS = tree("v1", "Pod")


def watched_by_components(cluster):
    """Return the number of open watches by user agent and path."""
    requests = cluster.app.watches(Fault(user_agent="kube*"))
    return Counter((request.user_agent, request.record.path) for request in requests)


@pytest.mark.parametrize("crash", [True, False])
async def test_restarted_components_replace_the_earlier_ones(crash):
    async with EmbeddedCluster(clock="virtual", seed=1) as cluster:
        await cluster.client().create(deployment("web", 1))
        await cluster.wait_for("deployment/web", "condition=Available")
        await cluster.clock.advance(60)
        watches = watched_by_components(cluster)
        await cluster.restart_components(crash=crash)
        await cluster.client().create(deployment("other", 1))
        await cluster.wait_for("deployment/other", "condition=Available")
        await cluster.clock.advance(60)
        assert watched_by_components(cluster) == watches


async def test_components_restart_with_other_controllers():
    async with EmbeddedCluster(clock="virtual", nodes=0, scheduler=False, controllers=["job-controller"]) as cluster:
        await cluster.client().create(deployment("web", 1))
        await cluster.settle()
        assert await cluster.client().list(PODS) == []
        await cluster.restart_components(controllers=["deployment-controller", "replicaset-controller"])
        await cluster.settle()
        assert len(await cluster.client().list(PODS)) == 1
        with pytest.raises(ClusterError, match='"nix" is not in the list'):
            await cluster.restart_components(controllers=["nix"])


async def test_rewind_without_waiting_starts_the_components_in_the_background():
    async with EmbeddedCluster() as cluster:
        snapshot = cluster.snapshot()
        for _ in range(3):
            await cluster.client().create(config_map("a"))
            await cluster.rewind(snapshot, waits=False)
        await cluster.settle()
        await cluster.client().create(deployment("web", replicas=1))
        await cluster.wait_for("deployment/web", "condition=Available")
