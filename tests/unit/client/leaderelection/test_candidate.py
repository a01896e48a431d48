import asyncio
import random
from datetime import UTC, datetime

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client import Client
from steersman.client.errors import NotFound, RequestFailed
from steersman.client.leaderelection.candidate import CANDIDATES, Candidacy, LeaseCandidate, needs_write
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.testing import InProcessAPIServer

CANDIDACY = Candidacy("default", "me", "lead", binary_version="1.36.0", emulation_version="1.35.0")
NOW = datetime(2026, 1, 1, 1, 0, 0, tzinfo=UTC)
EARLIER = "2026-01-01T00:59:00.000000Z"
LATER = "2026-01-01T00:59:30.000000Z"
LONG_AGO = "2026-01-01T00:55:00.000000Z"
SPEC = CANDIDACY.spec(renewed_at=NOW)


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        (SPEC, False),
        (SPEC | {"renewTime": EARLIER}, False),
        (SPEC | {"renewTime": EARLIER, "pingTime": LATER}, True),
        (SPEC | {"renewTime": LATER, "pingTime": EARLIER}, False),
        (SPEC | {"renewTime": LONG_AGO}, True),
        (SPEC | {"renewTime": None}, True),
        (SPEC | {"emulationVersion": "1.36.0"}, True),
        (SPEC | {"strategy": "other"}, True),
        ({}, True),
    ],
    ids=["fresh", "renewed", "pinged", "answered", "old", "never", "version", "strategy", "empty"],
)
def test_needs_write_of_an_existing_candidate(spec, needed):
    assert needs_write({"spec": spec}, CANDIDACY, now=NOW) is needed


def test_needs_write_of_a_missing_candidate():
    assert needs_write(None, CANDIDACY, now=NOW)


@pytest.fixture
def clock():
    return FakeClock(NOW)


@pytest.fixture
async def client(clock):
    async with InProcessAPIServer(clock=clock) as server:
        yield Client(LoopbackTransport(server.core.client), clock=clock)


@pytest.fixture
async def task(client, clock):
    running = asyncio.create_task(LeaseCandidate(client, CANDIDACY, dice=random.Random(1)).run())
    await clock.advance(0.5)
    yield running
    running.cancel()
    await clock.advance(10)


async def get_candidate(client):
    return await client.get(CANDIDATES, "me", namespace="default")


async def test_candidate_object_has_versions_and_strategy(client, task):
    assert (await get_candidate(client))["spec"] == {
        "leaseName": "lead",
        "binaryVersion": "1.36.0",
        "emulationVersion": "1.35.0",
        "strategy": "OldestEmulationVersion",
        "renewTime": "2026-01-01T01:00:00.000000Z",
    }


async def test_candidate_acknowledges_a_ping_at_once(client, task, clock):
    await clock.advance(60)
    ping = {"spec": {"pingTime": "2026-01-01T01:01:00.000000Z"}}
    await client.patch(CANDIDATES, "me", ping, namespace="default")
    await clock.advance(0.5)
    spec = (await get_candidate(client))["spec"]
    assert "pingTime" not in spec
    assert spec["renewTime"].startswith("2026-01-01T01:01:00.")


async def test_candidate_is_renewed_without_pings(client, task, clock):
    await clock.advance(5 * 60)
    assert (await get_candidate(client))["spec"]["renewTime"].startswith("2026-01-01T01:05:0")


async def test_candidate_is_corrected_after_a_foreign_change(client, task, clock):
    await client.patch(CANDIDATES, "me", {"spec": {"emulationVersion": "1.30.0"}}, namespace="default")
    await clock.advance(0.5)
    assert (await get_candidate(client))["spec"]["emulationVersion"] == "1.35.0"


async def test_candidate_is_recreated_after_a_foreign_deletion(client, task, clock):
    await client.delete(CANDIDATES, "me", namespace="default")
    await clock.advance(0.5)
    assert (await get_candidate(client))["spec"]["leaseName"] == "lead"


async def test_candidate_is_deleted_when_run_ends(client, task, clock):
    task.cancel()
    await clock.advance(1)
    assert task.cancelled()
    with pytest.raises(NotFound):
        await get_candidate(client)


async def test_candidate_adopts_an_existing_object(client, clock):
    old = {"apiVersion": "coordination.k8s.io/v1beta1", "kind": "LeaseCandidate"}
    spec = SPEC | {"binaryVersion": "1.35.0"}
    await client.create(old | {"metadata": {"name": "me", "namespace": "default"}, "spec": spec})
    running = asyncio.create_task(LeaseCandidate(client, CANDIDACY, dice=random.Random(1)).run())
    await clock.advance(1)
    assert (await get_candidate(client))["spec"]["binaryVersion"] == "1.36.0"
    running.cancel()
    await clock.advance(1)


async def test_candidate_retries_while_the_server_is_unavailable(client, clock, monkeypatch, caplog):
    get = client.get
    faults = [RequestFailed("away")] * 3

    async def failing(*args, **options):
        if faults:
            raise faults.pop()
        return await get(*args, **options)

    monkeypatch.setattr(client, "get", failing)
    running = asyncio.create_task(LeaseCandidate(client, CANDIDACY, dice=random.Random(1)).run())
    await clock.advance(5)
    assert (await get_candidate(client))["spec"]["leaseName"] == "lead"
    assert caplog.text.count("could not be kept") == 3
    running.cancel()
    await clock.advance(1)


async def test_candidate_run_ends_when_the_server_is_unavailable(client, task, clock, monkeypatch, caplog):
    async def away(*args, **options):
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(client, "delete", away)
    task.cancel()
    await clock.advance(6)
    assert task.cancelled()
    assert "could not be deleted" in caplog.text
