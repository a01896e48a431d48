from __future__ import annotations

import asyncio
import shutil

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.storage.sqlite import SqliteStore, leasing
from steersman.storage.store import LeaseNotFound, Put, StoreError


async def test_restart_restores_the_remaining_time_of_a_lease(open_store, clock):
    store = await open_store()
    lease = await store.grant_lease(100)
    await store.txn([Put("/a/x", b"1", lease_id=lease)])
    await clock.advance(70)
    await store.close()
    await clock.advance(1000)
    store = await open_store()
    await clock.advance(29)
    await store.txn([Put("/b", b"")])
    assert await store.get("/a/x") is not None
    batches = asyncio.Queue()
    await store.watch("/a/", batches.put_nowait, after_revision=store.revision, on_lost=batches.put_nowait)
    await clock.advance(2)
    assert (await asyncio.wait_for(batches.get(), HANG_SECONDS)).events[0].value is None


async def test_restart_restores_the_full_ttl_of_a_renewed_lease(open_store, clock):
    store = await open_store()
    lease = await store.grant_lease(100)
    await clock.advance(70)
    await store.close()
    store = await open_store()
    await clock.advance(20)
    await store.keep_alive(lease)
    await store.close()
    store = await open_store()
    await clock.advance(90)
    await store.keep_alive(lease)


async def test_restart_does_not_restore_a_revoked_lease(open_store):
    store = await open_store()
    lease = await store.grant_lease(100)
    await store.revoke_lease(lease)
    await store.close()
    with pytest.raises(LeaseNotFound):
        await (await open_store()).keep_alive(lease)


async def test_crash_restores_the_last_persisted_time_of_a_lease(open_store, clock, path, tmp_path):
    store = await open_store()
    lease = await store.grant_lease(1000)
    step_seconds = 10
    for _ in range(40):
        await clock.advance(step_seconds)
        await store.txn([Put("/a", b"1")])
    copy = tmp_path / "crashed"
    copy.mkdir()
    for name in ("store.db", "store.db-wal", "store.db-ack"):
        shutil.copy(path.parent / name, copy / name)
    crashed = await SqliteStore.open(copy / "store.db", clock=clock)
    remaining = crashed._leases.remaining_seconds(crashed._leases.get(lease))
    await crashed.close()
    # The clock can move on by a step while a checkpoint is written, and the next one waits for its interval.
    assert 600 <= remaining <= 600 + 60 + 2 * step_seconds


async def test_end_of_a_lease_with_many_keys_takes_several_transactions(open_store, monkeypatch):
    monkeypatch.setattr(leasing, "POSITIONS_MAX", 10)
    store = await open_store()
    lease = await store.grant_lease(100)
    await store.txn([Put(f"/a/{n}", b"1", lease_id=lease) for n in range(25)])
    batches = []
    await store.watch("/a/", batches.append, after_revision=25, on_lost=batches.append)
    await store.revoke_lease(lease)
    assert (await store.range("/a/")).kvs == []
    assert [event.mod_revision for batch in batches for event in batch.events] == list(range(26, 51))


async def test_cancelled_revocation_completes(open_store):
    store = await open_store()
    lease = await store.grant_lease(100, lease_id=5)
    await store.txn([Put("/a", b"1", lease_id=lease)])
    revoking = asyncio.ensure_future(store.revoke_lease(lease))
    await asyncio.wait([revoking], timeout=0)
    revoking.cancel()
    await store.txn([Put("/b", b"1")])
    assert await store.get("/a") is None
    assert await store.grant_lease(100, lease_id=5) == 5


async def test_grant_rejects_a_concurrent_duplicate_id(open_store):
    store = await open_store()
    outcomes = await asyncio.gather(
        store.grant_lease(10, lease_id=5), store.grant_lease(10, lease_id=5), return_exceptions=True
    )
    assert outcomes[0] == 5
    assert isinstance(outcomes[1], StoreError)
