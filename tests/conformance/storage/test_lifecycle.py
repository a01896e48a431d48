from __future__ import annotations

import asyncio

import pytest

from steersman.storage.store import Put, Unavailable


async def test_calls_after_close_raise_unavailable(store, recorder):
    await store.txn([Put("/a", b"1")])
    lease = await store.grant_lease(10)
    await store.close()
    await store.close()
    calls = [
        store.txn([Put("/a", b"2")]),
        store.get("/a"),
        store.range("/"),
        store.current_revision(),
        store.compact(1),
        store.watch("/", recorder, after_revision=0, on_lost=recorder.on_lost),
        store.grant_lease(10),
        store.keep_alive(lease),
        store.revoke_lease(lease),
        store.size_bytes(),
    ]
    for call in calls:
        with pytest.raises(Unavailable):
            await call


async def test_close_ends_watches(store, recorder):
    await store.watch("/a/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await store.close()
    assert [type(error) for error in recorder.lost] == [Unavailable]


async def test_close_completes_accepted_writes(store):
    writes = [asyncio.ensure_future(store.txn([Put(f"/a/{n}", b"1")])) for n in range(50)]
    await asyncio.wait(writes, timeout=0)
    await store.close()
    assert sorted(await asyncio.gather(*writes)) == list(range(1, 51))


async def test_close_may_be_called_concurrently(store):
    await store.txn([Put("/a", b"1")])
    await asyncio.gather(store.close(), store.close())


@pytest.mark.not_on("etcd", "the size is that of the whole member, which reuses freed pages")
async def test_size_grows_with_stored_data(store):
    before = await store.size_bytes()
    await store.txn([Put("/a", b"x" * 200_000)])
    assert await store.size_bytes() >= before + 200_000


async def test_closed_store_is_collected_despite_pending_expiry(store, clock):
    await store.txn([Put("/a", b"1", lease_id=await store.grant_lease(10))])
    await store.close()
    await clock.advance(20)
