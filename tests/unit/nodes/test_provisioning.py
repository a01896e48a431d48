"""The simulated storage against a server on the same loop; the test plays the volume binder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from tests.unit.nodes.test_failed_writes import FAILURES, failing
from tests.unit.nodes.world import Wrap

from steersman.apimachinery.trees import Tree
from steersman.asynckit.clock import FakeClock
from steersman.asynckit.tasks import Supervisor
from steersman.client import Client
from steersman.client.errors import NotFound
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.nodes.provisioning import CLAIMS, CLASSES, VOLUMES, SimulatedStorage
from steersman.nodes.volumes import CLASS_NAME, PROVISIONER
from steersman.runtime.context import ControllerContext
from steersman.testing.inprocess import InProcessAPIServer


class World:
    def __init__(self, client: Client, clock: FakeClock) -> None:
        self.client = client
        self.clock = clock

    async def settle(self) -> None:
        for _ in range(30):
            await self.clock.advance(0.01)

    async def claim(self) -> Tree:
        notes = {
            "volume.kubernetes.io/storage-provisioner": PROVISIONER,
            "volume.kubernetes.io/selected-node": "node-0",
        }
        spec = {
            "storageClassName": CLASS_NAME,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        metadata = {"name": "c", "namespace": "default", "annotations": notes}
        created = await self.client.create(
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
        )
        await self.settle()
        return created


@asynccontextmanager
async def world(wrap: Wrap = lambda transport: transport) -> AsyncIterator[World]:
    """Start an API server and the controller. ``wrap`` returns the transport of its client, e.g. one that injects faults."""
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        client = Client(LoopbackTransport(server.core.client), clock=clock)
        context = ControllerContext(Client(wrap(LoopbackTransport(server.core.client)), clock=clock), dice=Random(1))
        storage = SimulatedStorage(context)
        tasks = Supervisor("storage")
        context.informers.start()
        tasks.start("storage", storage.run())
        new_world = World(client, clock)
        await new_world.settle()
        try:
            yield new_world
        finally:
            await tasks.close()
            await context.informers.close()


async def test_volume_is_provisioned_expanded_and_deleted() -> None:
    async with world() as provisioning:
        cls = await provisioning.client.get(CLASSES, CLASS_NAME)
        assert cls["provisioner"] == PROVISIONER
        name = f"pvc-{(await provisioning.claim())['metadata']['uid']}"
        volume = await provisioning.client.get(VOLUMES, name)
        assert volume["spec"]["capacity"] == {"storage": "1Gi"}

        status = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        await provisioning.client.patch(CLAIMS, "c", {"spec": {"volumeName": name}}, namespace="default")
        await provisioning.client.patch(CLAIMS, "c", status, namespace="default", subresource="status")
        more = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        await provisioning.client.patch(CLAIMS, "c", more, namespace="default")
        await provisioning.settle()
        assert (await provisioning.client.get(VOLUMES, name))["spec"]["capacity"] == {"storage": "2Gi"}
        claim = await provisioning.client.get(CLAIMS, "c", namespace="default")
        assert claim["status"]["capacity"] == {"storage": "2Gi"}

        released = {"status": {"phase": "Released"}}
        await provisioning.client.patch(VOLUMES, name, {"metadata": {"finalizers": None}})
        await provisioning.client.patch(VOLUMES, name, released, subresource="status")
        await provisioning.settle()
        with pytest.raises(NotFound):
            await provisioning.client.get(VOLUMES, name)


@pytest.mark.parametrize("failure", FAILURES)
async def test_storage_class_is_created_when_the_first_attempts_fail(failure):
    created, wrap = failing(failure, "POST", "/apis/storage.k8s.io/v1/storageclasses")
    async with world(wrap) as the:
        await the.clock.advance(2)
        await the.settle()
        assert (await the.client.get(CLASSES, CLASS_NAME))["provisioner"] == PROVISIONER
    assert created[0].failed > 0


@pytest.mark.parametrize("failure", FAILURES)
async def test_released_volume_is_removed_when_its_deletion_fails(failure):
    created, wrap = failing(failure, "DELETE", "/api/v1/persistentvolumes/pvc-")
    async with world(wrap) as the:
        name = f"pvc-{(await the.claim())['metadata']['uid']}"
        await the.client.patch(CLAIMS, "c", {"spec": {"volumeName": name}}, namespace="default")
        await the.client.patch(VOLUMES, name, {"metadata": {"finalizers": None}})
        await the.client.patch(VOLUMES, name, {"status": {"phase": "Released"}}, subresource="status")
        await the.clock.advance(2)
        await the.settle()
        with pytest.raises(NotFound):
            await the.client.get(VOLUMES, name)
    assert created[0].failed > 0
