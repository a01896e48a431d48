import asyncio
from datetime import UTC, datetime

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client import Client
from steersman.client.errors import AlreadyExists, Conflict
from steersman.client.leaderelection import LeaderElectionRecord, LeaseLock
from steersman.client.leaderelection.lock import LEASES
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.testing import InProcessAPIServer

AT = datetime(2026, 1, 1, tzinfo=UTC)
OURS = LeaderElectionRecord("us", 15, AT, AT)


@pytest.fixture
async def client():
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        yield Client(LoopbackTransport(server.core.client), clock=clock)


@pytest.fixture
def lock(client):
    return LeaseLock(client, namespace="default", name="lead", identity="us", labels={"app": "x"})


def test_lease_lock_requires_an_identity():
    with pytest.raises(ValueError, match="Lock identity is empty"):
        LeaseLock(None, namespace="default", name="lead", identity="")


async def test_lease_lock_creates_reads_and_replaces_the_lease(lock, client):
    assert await lock.read() is None
    created = await lock.create(OURS)
    assert await lock.read() == created
    assert created.record == OURS
    freed = await lock.replace(created, LeaderElectionRecord("", 1, AT, AT, transitions=1))
    assert freed.record == LeaderElectionRecord("", 1, AT, AT, transitions=1)
    lease = await client.get(LEASES, "lead", namespace="default")
    assert lease["metadata"]["labels"] == {"app": "x"}
    assert lease["spec"]["holderIdentity"] == ""


async def test_record_event_names_the_leader(client):
    recorded = []

    class Recorder:
        def event(self, *arguments):
            recorded.append(arguments)

    lock = LeaseLock(client, namespace="default", name="lead", identity="us", recorder=Recorder())
    created = await lock.create(OURS)
    lock.record_event("became leader")
    reference = {
        "kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "namespace": "default", "name": "lead",
        "uid": created.raw["metadata"]["uid"],
    }  # fmt: skip
    assert recorded == [(reference, "Normal", "LeaderElection", "us became leader")]


async def test_record_event_without_a_recorder_does_nothing(lock):
    lock.record_event("became leader")


async def test_lease_lock_raises_the_errors_of_the_server(lock):
    created = await lock.create(OURS)
    with pytest.raises(AlreadyExists):
        await lock.create(OURS)
    await lock.replace(created, LeaderElectionRecord("them", 15, AT, AT))
    with pytest.raises(Conflict):
        await lock.replace(created, OURS)


async def test_watch_yields_the_current_state_and_each_change(lock, client):
    await lock.create(OURS)
    recorded = []

    def record_state(seen):
        recorded.append(seen.record)

    async def listen():
        async for seen in lock.watch():
            record_state(seen)

    task = asyncio.create_task(listen())
    await client.clock.advance(0.5)
    await lock.replace(await lock.read(), LeaderElectionRecord("", 1, AT, AT))
    await client.clock.advance(0.5)
    await client.delete(LEASES, "lead", namespace="default")
    await client.clock.advance(0.5)
    task.cancel()
    await asyncio.wait([task])
    assert recorded == [OURS, LeaderElectionRecord("", 1, AT, AT), None]
