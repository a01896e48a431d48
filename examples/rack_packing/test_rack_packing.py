"""Tests of the plugin in a control plane on the test's event loop, in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lightkube.models.core_v1 import Node, Pod
from rack_packing import RackPacking

from steersman.testing import EmbeddedCluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from steersman.client import Client


class Racks:
    """A cluster with two nodes in each of the racks ``a`` and ``b``."""

    def __init__(self, cluster: EmbeddedCluster, client: Client) -> None:
        self.cluster = cluster
        self.client = client

    async def pod(self, name: str, **labels: str) -> None:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        metadata = {"name": name, "namespace": "default", "labels": labels}
        await self.client.create(Pod.from_dict({"metadata": metadata, "spec": spec}))

    async def rack_of(self, name: str) -> str:
        """Return the rack of a pod; empty while it is pending."""
        await self.cluster.settle()
        pod: Any = await self.client.get(Pod, name, namespace="default")
        return pod.spec.nodeName[0] if pod.spec.nodeName else ""

    async def message(self, name: str) -> str:
        """Return why a pod is pending."""
        await self.cluster.settle()
        pod: Any = await self.client.get(Pod, name, namespace="default")
        return next(item.message for item in pod.status.conditions if item.type == "PodScheduled")


@pytest.fixture
async def racks() -> AsyncIterator[Racks]:
    plugins = {"RackPacking": RackPacking}
    args = {"tenantsPerRack": 1, "gangTimeoutSeconds": 30}
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": "RackPacking", "weight": 10}]}},
        "pluginConfig": [{"name": "RackPacking", "args": args}],
    }
    async with EmbeddedCluster(
        clock="virtual", nodes=0, scheduler_plugins=plugins, scheduler_config={"profiles": [profile]}
    ) as cluster:
        client = cluster.client()
        for name in ("a1", "a2", "b1", "b2"):
            capacity = {"cpu": "4", "memory": "8Gi", "pods": "10"}
            metadata = {"name": name, "labels": {"rack": name[0]}}
            await client.create(
                Node.from_dict({"metadata": metadata, "status": {"capacity": capacity, "allocatable": capacity}})
            )
            await client.patch(Node, name, {"spec": {"taints": None}})
        yield Racks(cluster, client)


async def test_pods_of_a_tenant_share_a_rack(racks: Racks) -> None:
    for number in range(4):
        await racks.pod(f"red-{number}", tenant="red")
    await racks.pod("blue", tenant="blue")
    used = {await racks.rack_of(f"red-{number}") for number in range(4)}
    assert len(used) == 1
    assert await racks.rack_of("blue") not in used


async def test_tenant_waits_until_a_rack_is_free(racks: Racks) -> None:
    for tenant in ("red", "blue", "green"):
        await racks.pod(tenant, tenant=tenant)
        await racks.cluster.settle()
    assert (await racks.message("green")).startswith("0/4 nodes are available: 4 rack(s) belong to other tenants.")
    freed = await racks.rack_of("red")
    await racks.client.delete(Pod, "red", namespace="default", grace_period_seconds=0)
    await racks.cluster.clock.advance(40)
    assert await racks.rack_of("green") == freed


async def test_gang_is_bound_together(racks: Racks) -> None:
    await racks.pod("first", tenant="red", gang="g", **{"gang-size": "2"})
    assert await racks.rack_of("first") == ""
    await racks.pod("second", tenant="red", gang="g", **{"gang-size": "2"})
    assert await racks.rack_of("first") == await racks.rack_of("second") != ""


async def test_incomplete_gang_is_rejected_after_the_timeout(racks: Racks) -> None:
    await racks.pod("first", tenant="red", gang="g", **{"gang-size": "2"})
    await racks.cluster.settle()
    await racks.cluster.clock.advance(31)
    assert await racks.message("first") == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 30s at plugin RackPacking."
    )
