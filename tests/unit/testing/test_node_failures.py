"""Failures of simulated nodes and pods."""

import pytest
from tests.unit.testing.objects import pod

from steersman.client import tree
from steersman.testing.embedded import EmbeddedCluster

NODES, PODS = tree("v1", "Node"), tree("v1", "Pod")


async def test_node_that_recovers_is_ready_again():
    async with EmbeddedCluster(clock="virtual") as cluster:
        await cluster.nodes.fail("node-0")
        await cluster.clock.advance(120)
        await cluster.nodes.recover("node-0")
        await cluster.clock.advance(60)
        node = await cluster.client().get(NODES, "node-0")
        assert not node["spec"].get("taints")


async def test_failed_pod_restarts_until_it_recovers():
    async with EmbeddedCluster(clock="virtual") as cluster:
        client = cluster.client()
        await client.create(pod("web"))
        await cluster.clock.advance(5)
        await cluster.pods.fail("web", "crash", after_seconds=1)
        await cluster.clock.advance(60)
        assert (await client.get(PODS, "web"))["status"]["containerStatuses"][0]["restartCount"] > 0
        await cluster.pods.recover("web")
        await cluster.clock.advance(600)
        assert (await client.get(PODS, "web"))["status"]["containerStatuses"][0]["ready"]


async def test_unknown_failure_of_a_pod_is_an_error():
    async with EmbeddedCluster(nodes=0, controllers=[], scheduler=False) as cluster:
        with pytest.raises(ValueError, match='unknown failure "explode" of a pod, expected one of: crash'):
            await cluster.pods.fail("web", "explode")
