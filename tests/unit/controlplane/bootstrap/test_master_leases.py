"""Addresses that live as long as their servers."""

import asyncio

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.bootstrap.master_leases import PREFIX, MasterLeases
from steersman.storage.memory import MemoryStore
from steersman.storage.sqlite import SqliteStore


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def store(clock):
    store = MemoryStore(clock=clock)
    yield store
    await store.close()


async def test_lease_exists_while_it_is_renewed(store, clock):
    leases = MasterLeases(store)
    for _ in range(5):
        await leases.hold("192.0.2.1")
        await clock.advance(14)
        assert await leases.addresses() == ["192.0.2.1"]
    await clock.advance(2)
    assert await leases.addresses() == []


async def test_renewing_writes_nothing(store, clock):
    leases = MasterLeases(store)
    await leases.hold("192.0.2.1")
    before = store.revision
    await leases.hold("192.0.2.1")
    assert store.revision == before


async def test_expired_lease_is_recreated_by_renewal(store, clock):
    leases = MasterLeases(store)
    await leases.hold("192.0.2.1")
    await clock.advance(60)
    await leases.hold("192.0.2.1")
    assert await leases.addresses() == ["192.0.2.1"]


async def test_removed_lease_is_recreated_by_renewal(store):
    leases = MasterLeases(store)
    await leases.hold("192.0.2.1")
    assert await MasterLeases(store).release("192.0.2.1") is True
    await leases.hold("192.0.2.1")
    assert await leases.addresses() == ["192.0.2.1"]


async def test_release_returns_whether_the_lease_existed(store):
    leases = MasterLeases(store)
    assert await leases.release("192.0.2.1") is False
    await leases.hold("192.0.2.1")
    assert await leases.release("192.0.2.1") is True
    assert await leases.addresses() == []


async def test_lease_of_a_new_server_survives_the_end_of_the_old_one(store, clock):
    await MasterLeases(store).hold("192.0.2.1")
    await clock.advance(10)
    await MasterLeases(store, ttl_seconds=60).hold("192.0.2.1")
    await clock.advance(10)
    assert await MasterLeases(store).addresses() == ["192.0.2.1"]


async def test_value_equals_that_of_kube_apiserver(store):
    await MasterLeases(store).hold("192.0.2.1")
    value = (await store.get(f"{PREFIX}192.0.2.1")).value
    assert b'"kind":"Endpoints"' in value
    assert b'"subsets":[{"addresses":[{"ip":"192.0.2.1"}]}]' in value


async def test_watch_reports_added_and_expired_leases(store, clock):
    notified, leases = [], MasterLeases(store)
    watch = await MasterLeases(store).watch(lambda: notified.append(1), lost=notified.append)
    await leases.hold("192.0.2.1")
    await clock.advance(1)
    assert len(notified) == 1
    await clock.advance(15)
    assert len(notified) == 2
    watch.close()


async def test_address_of_a_dead_server_expires_after_the_next_start(tmp_path, clock):
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock)
    await MasterLeases(store).hold("192.0.2.1")
    await store.close()
    await clock.advance(3600)
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock)
    leases = MasterLeases(store)
    await leases.hold("192.0.2.2")
    assert await leases.addresses() == ["192.0.2.1", "192.0.2.2"]
    expired = asyncio.Event()
    watch = await leases.watch(expired.set, lost=lambda error: None)
    await clock.advance(10)
    await leases.hold("192.0.2.2")
    await clock.advance(6)
    await expired.wait()
    assert await leases.addresses() == ["192.0.2.2"]
    watch.close()
    await store.close()
