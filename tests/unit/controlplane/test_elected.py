"""Groups of runnables behind coordinated elections."""

from __future__ import annotations

import asyncio
import os
import random
from typing import Any

import pytest

from steersman.client import Client
from steersman.client.connecting import connect
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.component_health import health_socket
from steersman.controlplane.components import run_all
from steersman.controlplane.elected import ElectedGroup
from steersman.controlplane.elections.kinds import CANDIDATES, LEASES
from steersman.controlplane.options import APIServerOptions
from steersman.nodes.options import NodesOptions
from steersman.runtime.manager import LeadershipLost
from steersman.scheduler.options import set_up

NAMES = {"kube-controller-manager", "kube-scheduler"}


class Worker:
    """A runnable that runs until it is stopped, or fails."""

    name = "worker"
    is_ready = True

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()
        self.is_over = False

    def stop(self) -> None:
        self.stopped.set()

    async def run(self) -> None:
        self.started.set()
        try:
            if self.failure is not None:
                raise self.failure
            await self.stopped.wait()
        finally:
            self.is_over = True


@pytest.fixture
async def server(tmp_path):
    started = await APIServer.start(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path))
    yield started
    await started.stop(grace_seconds=0)


@pytest.fixture
async def client(server):
    async with connect(server.kubeconfig) as made:
        yield made


async def held(client: Client, lease_name: str, holds: Any) -> Any:
    """The Lease, once ``holds`` is true of its spec."""
    selector = f"metadata.name={lease_name}"
    async with asyncio.timeout(30), client.watch(LEASES, namespace="kube-system", field_selector=selector) as events:
        async for event in events:
            if event.type != "BOOKMARK" and holds(event.object["spec"]):
                return event.object
    raise AssertionError("the watch ended")


async def test_group_works_while_it_leads_and_releases_its_lease_at_the_end(client):
    group = ElectedGroup(client, "lead", dice=random.Random(1))
    worker = group.add(Worker())
    assert group.is_ready
    running = asyncio.create_task(group.run())
    async with asyncio.timeout(30):
        await worker.started.wait()
    (candidate,) = await client.list_all(CANDIDATES, namespace="kube-system")
    lease = await client.get(LEASES, "lead", namespace="kube-system")
    assert lease["spec"]["holderIdentity"] == candidate["metadata"]["name"]
    assert candidate["spec"]["leaseName"] == "lead"
    group.stop()
    await running
    assert worker.is_over
    assert await client.list_all(CANDIDATES, namespace="kube-system") == []
    released = await client.get(LEASES, "lead", namespace="kube-system")
    assert not released["spec"].get("holderIdentity")


async def test_group_that_does_not_lead_ends_without_work(client):
    other = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": "2100-01-01T00:00:00.000000Z"}
    metadata = {"name": "lead", "namespace": "kube-system"}
    await client.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": other})
    group = ElectedGroup(client, "lead", dice=random.Random(1))
    worker = group.add(Worker())
    running = asyncio.create_task(group.run())
    async with asyncio.timeout(30), client.watch(CANDIDATES, namespace="kube-system") as events:
        async for event in events:
            if event.type == "ADDED":
                break
    group.stop()
    await running
    assert not worker.started.is_set()


async def test_group_raises_the_failure_of_a_runnable(client):
    group = ElectedGroup(client, "lead", dice=random.Random(1))
    group.add(Worker(RuntimeError("broken")))
    async with asyncio.timeout(30):
        with pytest.raises(ExceptionGroup) as raised:
            await group.run()
    assert raised.group_contains(RuntimeError, match="broken")


async def test_group_that_loses_its_lease_ends_its_work(client):
    group = ElectedGroup(client, "lead", dice=random.Random(1))
    worker = group.add(Worker())
    running = asyncio.create_task(group.run())
    async with asyncio.timeout(30):
        await worker.started.wait()
        lease = await client.get(LEASES, "lead", namespace="kube-system")
        lease["spec"]["holderIdentity"] = "other"
        await client.update(lease)
        with pytest.raises(LeadershipLost):
            await running
    assert worker.is_over


async def test_components_of_up_are_candidates_and_healthy(server, client):
    reading, writing = os.pipe()
    socket = health_socket()
    server.components.use_socket(socket)
    controllers = ManagerOptions(
        kubeconfig=server.kubeconfig,
        port=0,
        controllers=("serviceaccount-controller",),
        coordinated_leader_election=True,
    )
    scheduler = set_up(kubeconfig=server.kubeconfig, port=0)
    nodes = NodesOptions(kubeconfig=server.kubeconfig)
    running = asyncio.ensure_future(run_all(controllers, scheduler, nodes, parent_pipe=reading, health_socket=socket))
    try:
        for name in NAMES:
            await held(client, name, lambda spec: spec.get("holderIdentity"))
        candidates = await client.list_all(CANDIDATES, namespace="kube-system")
        assert {each["spec"]["leaseName"] for each in candidates} == NAMES
        statuses = await client.list_all(await client.discover("v1", "ComponentStatus"))
        assert {each["metadata"]["name"]: each["conditions"][0]["status"] for each in statuses} == {
            "controller-manager": "True",
            "etcd-0": "True",
            "scheduler": "True",
        }
    finally:
        os.close(writing)
        code = await running
    assert code == 0
    statuses = await client.list_all(await client.discover("v1", "ComponentStatus"))
    assert {each["conditions"][0]["status"] for each in statuses if each["metadata"]["name"] != "etcd-0"} == {"False"}
