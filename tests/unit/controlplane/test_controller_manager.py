"""The controllers as a process runs them, against a server over TCP."""

from __future__ import annotations

import asyncio
import socket

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import RealClock
from steersman.client import tree
from steersman.client.connecting import connect
from steersman.client.errors import NotFound
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane import controller_manager
from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.controller_manager import run_component, run_controller_manager
from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.process import StopReasons
from steersman.runtime.manager import LeadershipLost

LEASE, EVENT = tree("coordination.k8s.io/v1", "Lease"), tree("v1", "Event")
#: For the release of the lease, which may take a renew deadline.
PATIENT = {
    "leader_elect_lease_duration_seconds": 2.0 * HANG_SECONDS,
    "leader_elect_renew_deadline_seconds": 1.0 * HANG_SECONDS,
}


@pytest.fixture
async def server(tmp_path):
    running = await APIServer.start(APIServerOptions(ephemeral=True, secure_port=0, data_dir=tmp_path))
    yield running
    await running.stop(grace_seconds=0)


@pytest.fixture
def reasons(monkeypatch):
    """To stop it, instead of signals."""
    new_reasons = StopReasons()
    new_reasons.listen = lambda: None
    monkeypatch.setattr(controller_manager, "StopReasons", lambda: new_reasons)
    return new_reasons


async def until(read):
    """Return the result of ``read`` once it has one."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            try:
                result = await read()
            except NotFound:
                result = None
            if result:
                return result
            await RealClock().sleep(0.02)


@pytest.fixture
async def start(server, reasons):
    async def begin(**more):
        value = {"controllers": ("replicationcontroller",), "kubeconfig": server.kubeconfig, "port": 0, **more}
        return asyncio.create_task(run_controller_manager(ManagerOptions(**value)))

    return begin


@pytest.fixture
async def client(server):
    async with connect(server.kubeconfig) as created:
        yield created


async def holder(client):
    return await client.get(LEASE, "kube-controller-manager", namespace="kube-system")


async def test_controller_manager_leads_with_service_accounts_and_releases_its_lease(server, start, client, reasons):
    running = await start(use_service_account_credentials=True, leader_elect_identity="me", **PATIENT)
    lease = await until(lambda: holder(client))
    assert lease["spec"]["holderIdentity"] == "me"
    controller = {
        "apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "rc"},
        "spec": {"replicas": 0, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
    }  # fmt: skip
    await client.create(controller, namespace="default")

    async def counted():
        obj = await client.get(tree("v1", "ReplicationController"), "rc", namespace="default")
        return obj["status"].get("observedGeneration") and obj

    result = await until(counted)
    assert {entry["manager"] for entry in result["metadata"]["managedFields"]} >= {"kube-controller-manager"}
    await client.get(tree("v1", "ServiceAccount"), "replication-controller", namespace="kube-system")
    reasons.give("enough")
    assert await running == 0
    assert not (await holder(client))["spec"].get("holderIdentity")


async def until_leading(client):
    """Wait until the process knows that it leads: its lease is written earlier."""

    async def events():
        return [event for event in await client.list(EVENT) if event["message"] == "me became leader"]

    await until(events)


async def test_losing_the_lease_ends_the_process(start, client):
    running = await start(leader_elect_identity="me")
    await until_leading(client)
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": "2126-01-01T00:00:00.000000Z"}
    await client.patch(LEASE, "kube-controller-manager", {"spec": spec}, namespace="kube-system")
    assert await running == controller_manager.EXIT_ENDED


async def test_process_contends_again_when_the_lease_is_lost_with_leader_elect_restart(start, client, reasons):
    running = await start(leader_elect_identity="me", leader_elect_restart=True)
    await until_leading(client)
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 1, "renewTime": "2126-01-01T00:00:00.000000Z"}
    await client.patch(LEASE, "kube-controller-manager", {"spec": spec}, namespace="kube-system")

    async def led_again():
        lease = await holder(client)
        return lease["spec"].get("holderIdentity") == "me" and lease

    assert (await until(led_again))["spec"]["leaseTransitions"] >= 1
    reasons.give("enough")
    assert await running == 0


class LosingManager:
    """A manager that loses its lease while it stops."""

    def __init__(self):
        self.started, self._stopping = asyncio.Event(), asyncio.Event()

    async def run(self):
        self.started.set()
        await self._stopping.wait()
        raise LeadershipLost("leaderelection lost")

    def stop(self):
        self._stopping.set()


async def test_lease_lost_while_the_process_stops_is_no_error(reasons):
    manager = LosingManager()

    async def make(stack):
        return manager

    running = asyncio.create_task(run_component(make, parent_pipe=None))
    await manager.started.wait()
    reasons.give("enough")
    assert await running == 0


async def test_controller_manager_creates_a_candidate_with_coordinated_election(start, client, reasons):
    candidates = tree("coordination.k8s.io/v1beta1", "LeaseCandidate")
    running = await start(leader_elect_identity="me", coordinated_leader_election=True)
    result = await until(lambda: client.get(candidates, "me", namespace="kube-system"))
    assert result["spec"]["leaseName"] == "kube-controller-manager"
    reasons.give("enough")
    assert await running == 0


async def test_port_in_use_is_one_line(start, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        running = await start(port=port)
        assert await running == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"steersman: cannot listen on 127.0.0.1 port {port}: address already in use"
