import asyncio
from datetime import UTC, datetime

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client import Client
from steersman.client.errors import AlreadyExists, Conflict
from steersman.client.leaderelection import LeaseLock, Record
from steersman.client.leaderelection.lock import LEASES
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.testing import InProcessAPIServer

AT = datetime(2026, 1, 1, tzinfo=UTC)
OURS = Record("us", 15, AT, AT)


@pytest.fixture
async def client():
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        yield Client(LoopbackTransport(server.core.client), clock=clock)


@pytest.fixture
def lock(client):
    return LeaseLock(client, namespace="default", name="lead", identity="us", labels={"app": "x"})


def test_an_identity_is_needed():
    with pytest.raises(ValueError, match="Lock identity is empty"):
        LeaseLock(None, namespace="default", name="lead", identity="")


async def test_a_lock_is_made_read_and_replaced(lock, client):
    assert await lock.read() is None
    made = await lock.create(OURS)
    assert await lock.read() == made
    assert made.record == OURS
    freed = await lock.replace(made, Record("", 1, AT, AT, transitions=1))
    assert freed.record == Record("", 1, AT, AT, transitions=1)
    lease = await client.get(LEASES, "lead", namespace="default")
    assert lease["metadata"]["labels"] == {"app": "x"}
    assert lease["spec"]["holderIdentity"] == ""


async def test_events_about_the_lease_tell_who_leads(client):
    told = []

    class Recorder:
        def event(self, *arguments):
            told.append(arguments)

    lock = LeaseLock(client, namespace="default", name="lead", identity="us", recorder=Recorder())
    made = await lock.create(OURS)
    lock.record_event("became leader")
    reference = {
        "kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "namespace": "default", "name": "lead",
        "uid": made.raw["metadata"]["uid"],
    }  # fmt: skip
    assert told == [(reference, "Normal", "LeaderElection", "us became leader")]


async def test_without_a_recorder_nothing_is_told(lock):
    lock.record_event("became leader")


async def test_races_are_lost_with_the_errors_of_the_server(lock):
    made = await lock.create(OURS)
    with pytest.raises(AlreadyExists):
        await lock.create(OURS)
    await lock.replace(made, Record("them", 15, AT, AT))
    with pytest.raises(Conflict):
        await lock.replace(made, OURS)


async def test_a_watch_begins_with_the_present_and_tells_each_change(lock, client):
    await lock.create(OURS)
    told = []

    def hear(seen):
        told.append(seen.record)

    async def listen():
        async for seen in lock.watch():
            hear(seen)

    task = asyncio.create_task(listen())
    await client.clock.advance(0.5)
    await lock.replace(await lock.read(), Record("", 1, AT, AT))
    await client.clock.advance(0.5)
    await client.delete(LEASES, "lead", namespace="default")
    await client.clock.advance(0.5)
    task.cancel()
    await asyncio.wait([task])
    assert told == [OURS, Record("", 1, AT, AT), None]
