"""Whole control planes on the loop of the test."""

import asyncio

import pytest
from tests.unit.testing.objects import config_map, deployment

from steersman.client import tree
from steersman.client.errors import NotFound
from steersman.storage.memory import MemoryStore
from steersman.testing.clock import ClockError, VirtualClock
from steersman.testing.embedded import EmbeddedCluster
from steersman.testing.errors import ClusterError

NODES, PODS, MAPS = tree("v1", "Node"), tree("v1", "Pod"), tree("v1", "ConfigMap")
DEPLOYMENTS = tree("apps/v1", "Deployment")
ALONE = {"nodes": 0, "controllers": [], "scheduler": False}


def conditions(obj):
    return {condition["type"]: condition["status"] for condition in obj["status"]["conditions"]}


@pytest.mark.parametrize("clock", ["real", "virtual"])
async def test_embedded_cluster_has_a_ready_node_when_started(clock):
    async with EmbeddedCluster(clock=clock) as cluster:
        (node,) = await cluster.client().list(NODES)
        assert conditions(node)["Ready"] == "True"


async def test_embedded_cluster_ends_all_tasks():
    before = asyncio.all_tasks()
    async with EmbeddedCluster(clock="virtual"):
        pass
    assert asyncio.all_tasks() == before


async def test_embedded_cluster_without_controllers_is_an_api_server():
    async with EmbeddedCluster(nodes=0, controllers=[], scheduler=False) as cluster:
        await cluster.client().create(config_map("a"))
        assert await cluster.client().list(NODES) == []


async def test_embedded_cluster_runs_deployments_in_virtual_time():
    async with EmbeddedCluster(clock="virtual") as cluster:
        client = cluster.client()
        await client.create(deployment("web"))
        await cluster.clock.advance(5)
        assert (await client.get(DEPLOYMENTS, "web"))["status"]["readyReplicas"] == 2


async def test_embedded_cluster_keeps_objects_over_a_crash():
    async with EmbeddedCluster(clock="virtual") as cluster:
        await cluster.client().create(config_map("kept"))
        await cluster.crash()
        with pytest.raises(ClusterError, match="not running"):
            cluster.client()
        await cluster.restart()
        assert (await cluster.client().get(MAPS, "kept"))["metadata"]["name"] == "kept"


async def test_cluster_with_the_seed_of_its_snapshot_has_other_uids():
    async def created_uid(cluster):
        return (await cluster.client().create(deployment("web", 0)))["metadata"]["uid"]

    async with EmbeddedCluster(clock="virtual", seed=1, **ALONE) as first:
        snapshot = first.snapshot()
        uids = [await created_uid(first)]
    for _ in range(2):
        async with EmbeddedCluster(clock="virtual", seed=1, snapshot=snapshot, **ALONE) as other:
            uids.append(await created_uid(other))
    assert uids[0] != uids[1] == uids[2]


async def test_snapshot_fills_another_cluster():
    async with EmbeddedCluster(clock="virtual") as cluster:
        await cluster.client().create(config_map("a"))
        snapshot = cluster.snapshot()
    async with EmbeddedCluster(clock="virtual", snapshot=snapshot) as fork:
        assert (await fork.client().get(MAPS, "a"))["metadata"]["name"] == "a"


async def test_rewind_restores_objects_and_repeats_no_resource_version():
    async with EmbeddedCluster(clock="virtual") as cluster:
        client = cluster.client()
        await client.create(config_map("kept"))
        snapshot = cluster.snapshot()
        later = await client.create(config_map("later"))
        await cluster.rewind(snapshot)
        with pytest.raises(NotFound):
            await client.get(MAPS, "later")
        assert await client.get(MAPS, "kept")
        again = await client.create(config_map("later"))
        assert int(again["metadata"]["resourceVersion"]) > int(later["metadata"]["resourceVersion"])


async def test_rewind_ends_watches_with_410_and_controllers_follow():
    async with EmbeddedCluster(clock="virtual") as cluster:
        client = cluster.client()
        snapshot = cluster.snapshot()
        await client.create(deployment("web"))
        await cluster.clock.advance(5)
        old = (await client.get(DEPLOYMENTS, "web"))["metadata"]["resourceVersion"]
        await cluster.rewind(snapshot)
        answer = await cluster.core.client.request("GET", f"/api/v1/pods?watch=1&resourceVersion={old}")
        assert answer.json()["object"]["code"] == 410
        await client.create(deployment("other"))
        await cluster.clock.advance(5)
        assert (await client.get(DEPLOYMENTS, "other"))["status"]["readyReplicas"] == 2
        assert {pod["metadata"]["labels"]["app"] for pod in await client.list(PODS)} == {"other"}


async def test_client_of_a_user_has_only_its_rights():
    async with EmbeddedCluster(clock="virtual", nodes=0, controllers=[], scheduler=False) as cluster:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        client = cluster.client(user="jane", groups=["a", "b"])
        info = (await client.create(review))["status"]["userInfo"]
        assert (info["username"], info["groups"]) == ("jane", ["a", "b", "system:authenticated"])


async def test_embedded_cluster_cannot_be_started_twice():
    async with EmbeddedCluster(nodes=0, controllers=[], scheduler=False) as cluster:
        with pytest.raises(ClusterError, match="started already"):
            await cluster.start()


async def test_embedded_cluster_takes_a_store():
    clock = VirtualClock()
    store = MemoryStore(clock=clock)
    async with EmbeddedCluster(clock=clock, store=store, nodes=0, controllers=[], scheduler=False):
        assert store.revision > 0


async def test_embedded_cluster_on_a_real_clock_cannot_advance():
    async with EmbeddedCluster(nodes=0, controllers=[], scheduler=False) as cluster:
        with pytest.raises(ClockError, match='create it with clock="virtual"'):
            await cluster.clock.advance(hours=1)
