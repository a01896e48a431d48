"""A disk that refuses: a limit on the size of files makes the kernel fail SQLite's writes, and lifting it heals them."""

from __future__ import annotations

import asyncio
import resource
from contextlib import contextmanager

import pytest

from steersman.storage.store import Conflict, Delete, Event, Put, Unavailable

BIG = b"x" * 100_000


@contextmanager
def full_disk(path):
    """No file grows beyond what the store's log has now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = path.with_name(path.name + "-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_write_that_finds_no_space_is_unavailable_and_leaves_no_trace(open_store, path):
    store = await open_store()
    revision = await store.txn([Put("/a/x", b"old")])
    got = []
    await store.watch("/a/", got.append, after_revision=revision, on_lost=got.append)
    with full_disk(path):
        with pytest.raises(Unavailable, match="not persisted"):
            await store.txn([Put("/a/x", b"new"), Put("/a/y", BIG)])
        assert (await store.get("/a/x")).value == b"old"
        assert store.revision == revision
        assert got == []


async def test_writes_queued_behind_a_failed_one_fail_with_it(open_store, path):
    store = await open_store()
    await store.txn([Put("/a/x", b"old")])
    with full_disk(path):
        outcomes = await asyncio.gather(
            store.txn([Put("/a/x", BIG)]),
            *(store.txn([Put(f"/b/{n}", b"small")]) for n in range(600)),
            return_exceptions=True,
        )
    assert {type(outcome) for outcome in outcomes} == {Unavailable}
    assert [kv.value for kv in (await store.range("/")).kvs] == [b"old"]


async def test_when_there_is_space_again_writes_succeed(open_store, path):
    store = await open_store()
    first = await store.txn([Put("/a/x", b"old")])
    got = []
    await store.watch("/a/", got.append, after_revision=first, on_lost=got.append)
    with full_disk(path), pytest.raises(Unavailable):
        await store.txn([Put("/a/x", BIG, expected=first), Delete("/none")])
    second = await store.txn([Put("/a/x", BIG, expected=first)])
    assert second > first
    assert [batch.events for batch in got] == [(Event("/a/x", BIG, first, second),)]
    await store.close()
    assert (await (await open_store()).get("/a/x")).mod_revision == second


async def test_a_refused_write_does_not_stand_in_the_way_of_others(open_store, path):
    """What was decided on a write that failed is decided again."""
    store = await open_store()
    await store.txn([Put("/a/x", b"old")])
    with full_disk(path):
        outcomes = await asyncio.gather(
            store.txn([Put("/b/x", BIG, expected=0)]),
            store.txn([Put("/b/x", b"small", expected=0)]),
            return_exceptions=True,
        )
    assert isinstance(outcomes[0], Unavailable)
    assert not isinstance(outcomes[1], Conflict)


async def test_a_key_removed_in_vain_is_there_still(open_store, path):
    store = await open_store()
    revision = await store.txn([Put("/a/x", BIG)])
    with full_disk(path), pytest.raises(Unavailable):
        await store.txn([Delete("/a/x"), Put("/a/y", BIG)])
    assert await store.txn([Put("/a/x", b"2", expected=revision)]) > revision


async def test_a_lease_that_cannot_be_ended_yet_is_ended_later(open_store, path, clock):
    store = await open_store()
    lease = await store.grant_lease(10)
    await store.txn([Put(f"/a/{n}", b"x" * 2000, lease_id=lease) for n in range(100)])
    got = asyncio.Queue()
    await store.watch("/a/", got.put_nowait, after_revision=store.revision, on_lost=got.put_nowait)
    with full_disk(path):
        with pytest.raises(Unavailable):
            await store.revoke_lease(lease)
        assert len((await store.range("/a/")).kvs) == 100
        await store.keep_alive(lease)
    await clock.advance(11)
    assert len((await asyncio.wait_for(got.get(), 10)).events) == 100


async def test_a_lease_that_cannot_be_written_was_never_granted(open_store, path):
    store = await open_store()
    await store.txn([Put("/a/x", b"old")])
    with full_disk(path), pytest.raises(Unavailable):
        await asyncio.gather(store.txn([Put("/a/y", BIG)]), store.grant_lease(10, lease_id=5))
    assert await store.grant_lease(10, lease_id=5) == 5


async def test_a_store_closes_on_a_full_disk(open_store, path):
    store = await open_store()
    await store.grant_lease(100)
    await store.txn([Put("/a/x", b"old")])
    with full_disk(path):
        with pytest.raises(Unavailable):
            await store.txn([Put("/a/y", BIG)])
        await store.close()
    assert (await (await open_store()).get("/a/x")).value == b"old"
