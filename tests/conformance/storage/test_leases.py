from __future__ import annotations

import pytest

from steersman.storage.store import LeaseNotFound, Put, StoreError


async def test_expired_lease_deletes_its_keys(store, clock, recorder, numbering):
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    lease = await store.grant_lease(10)
    await store.txn([Put("/a/x", b"1", lease_id=lease), Put("/a/y", b"1", lease_id=lease), Put("/a/z", b"1")])
    await clock.advance(9)
    assert len((await store.range("/a/")).kvs) == 3
    await clock.advance(1)
    await recorder.wait_until(lambda r: len(r.events) == 5)
    assert [kv.key for kv in (await store.range("/a/")).kvs] == ["/a/z"]
    *_, first, second = numbering(3, 2)
    assert recorder.summary[3:] == [("/a/x", None, first), ("/a/y", None, second)]
    assert recorder.batches[-1].revision == second


async def test_key_value_has_its_lease(store):
    lease = await store.grant_lease(10)
    await store.txn([Put("/a/x", b"1", lease_id=lease)])
    assert (await store.get("/a/x")).lease_id == lease
    assert (await store.range("/a/")).kvs[0].lease_id == lease


async def test_renewed_lease_does_not_expire(store, clock):
    lease = await store.grant_lease(10)
    await store.txn([Put("/a/x", b"1", lease_id=lease)])
    for _ in range(5):
        await clock.advance(8)
        await store.keep_alive(lease)
    assert await store.get("/a/x") is not None


async def test_key_rewritten_without_lease_is_kept(store, clock, recorder):
    lease = await store.grant_lease(10)
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/a/x", b"1", lease_id=lease), Put("/a/y", b"1", lease_id=lease)])
    await store.txn([Put("/a/x", b"2")])
    await clock.advance(11)
    await recorder.wait_until(lambda r: len(r.events) == 4)
    assert [kv.key for kv in (await store.range("/a/")).kvs] == ["/a/x"]


async def test_key_belongs_to_the_lease_of_its_last_write(store, clock, recorder):
    short, long = await store.grant_lease(10), await store.grant_lease(100)
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/a/x", b"1", lease_id=short), Put("/a/y", b"1", lease_id=short)])
    await store.txn([Put("/a/x", b"2", lease_id=long)])
    await clock.advance(11)
    await recorder.wait_until(lambda r: len(r.events) == 4)
    assert [kv.key for kv in (await store.range("/a/")).kvs] == ["/a/x"]
    await clock.advance(90)
    await recorder.wait_until(lambda r: len(r.events) == 5)
    assert (await store.range("/a/")).kvs == []


async def test_revoke_deletes_the_keys_at_once(store, recorder):
    lease = await store.grant_lease(10)
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/a/x", b"1", lease_id=lease)])
    await store.revoke_lease(lease)
    assert recorder.summary == [("/a/x", b"1", 1), ("/a/x", None, 2)]
    for call in (store.revoke_lease(lease), store.keep_alive(lease), store.txn([Put("/a/y", b"1", lease_id=lease)])):
        with pytest.raises(LeaseNotFound):
            await call


async def test_expiry_of_a_lease_without_keys_takes_no_revision(store):
    lease = await store.grant_lease(10)
    await store.revoke_lease(lease)
    assert await store.current_revision() == 0


async def test_expired_lease_is_not_found(store, clock, recorder):
    lease = await store.grant_lease(10)
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.txn([Put("/a/x", b"1", lease_id=lease)])
    await clock.advance(10)
    await recorder.wait_until(lambda r: len(r.events) == 2)
    with pytest.raises(LeaseNotFound):
        await store.keep_alive(lease)


async def test_grant_rejects_an_existing_id(store):
    assert await store.grant_lease(10, lease_id=77) == 77
    with pytest.raises(StoreError, match="77"):
        await store.grant_lease(10, lease_id=77)


async def test_grant_returns_distinct_ids(store):
    assert len({await store.grant_lease(10) for _ in range(20)}) == 20


@pytest.mark.parametrize("options", [{"ttl_seconds": 0}, {"ttl_seconds": 5, "lease_id": -1}])
async def test_grant_rejects_invalid_arguments(store, options):
    with pytest.raises(ValueError, match="lease"):
        await store.grant_lease(**options)
