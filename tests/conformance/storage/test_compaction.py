from __future__ import annotations

import pytest

from steersman.storage.store import Compacted, Delete, FutureRevision, Put


async def write(store, times, key="/a/x"):
    for n in range(times):
        await store.txn([Put(key, b"%d" % n)])


async def test_compact_revision_is_zero_at_first(store):
    await write(store, 3)
    assert store.compact_revision == 0
    assert (await store.get("/a/x", revision=1)).value == b"0"


async def test_range_below_the_compact_revision_is_compacted(store):
    await write(store, 5)
    await store.compact(3)
    assert store.compact_revision == 3
    for read in (store.get("/a/x", revision=2), store.range("/a/", revision=2), store.range("/none/", revision=1)):
        with pytest.raises(Compacted) as caught:
            await read
        assert (caught.value.revision >= 1, caught.value.compact_revision) == (True, 3)


async def test_range_from_the_compact_revision_on_succeeds(store, recorder):
    await write(store, 3)
    await store.txn([Put("/a/old", b"old")])
    await store.txn([Delete("/a/x")])
    await store.txn([Put("/a/old", b"new")])
    await store.compact(4)
    answer = await store.range("/a/", revision=4)
    assert [(kv.key, kv.value) for kv in answer.kvs] == [("/a/old", b"old"), ("/a/x", b"2")]
    assert (await store.get("/a/old", revision=5)).value == b"old"
    await store.watch("/a/", recorder, after_revision=4, on_lost=recorder.on_lost)
    assert recorder.summary == [("/a/x", None, 5), ("/a/old", b"new", 6)]


async def test_compact_to_the_present_keeps_all_keys(store):
    await write(store, 3)
    await store.compact(3)
    await store.compact(3)
    await store.compact(1)
    assert store.compact_revision == 3
    assert (await store.get("/a/x")).value == b"2"
    assert (await store.get("/a/x", revision=3)).value == b"2"


async def test_range_after_compaction_returns_unchanged_older_keys(store):
    await store.txn([Put("/a/old", b"old")])
    await write(store, 5)
    await store.compact(5)
    await store.txn([Put("/a/old", b"new")])
    await store.txn([Delete("/a/old")])
    assert (await store.get("/a/old", revision=5)).value == b"old"
    assert (await store.get("/a/old", revision=6)).value == b"old"
    assert (await store.get("/a/old", revision=7)).value == b"new"


async def test_compact_rejects_a_future_revision(store):
    await write(store, 2)
    with pytest.raises(FutureRevision):
        await store.compact(3)


@pytest.mark.not_on("etcd", "the servers compact in turn: tests/unit/storage/etcd/test_compaction.py")
async def test_history_is_compacted_after_its_retention_time(open_store, clock):
    store = await open_store(history_retention_seconds=300)
    await write(store, 5)
    await clock.advance(200)
    await write(store, 5)
    assert (await store.get("/a/x", revision=1)).value == b"0"
    await clock.advance(150)
    await write(store, 1)
    await clock.advance(30)
    assert 5 <= store.compact_revision <= 10
    assert (await store.get("/a/x", revision=10)).value == b"4"


@pytest.mark.not_on("etcd", "the size of etcd is bounded by its quota")
async def test_history_is_bounded_by_size(open_store):
    store = await open_store(history_max_bytes=200_000)
    for n in range(3000):
        await store.txn([Put("/a/x", b"%d" % n * 100)])
    before = store.compact_revision
    assert before > 0
    assert (await store.get("/a/x", revision=max(before, store.revision - 50))).value.startswith(b"29")
