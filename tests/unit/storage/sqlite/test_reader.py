from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.storage.sqlite import reader as reading
from steersman.storage.store import Compacted, Delete, Put


async def test_range_reads_rows_singly_when_the_blob_is_short(open_store, monkeypatch):
    """SQLite before 3.39 returns short blobs for values with a NUL."""
    store = await open_store()
    await store.txn([Put(f"/a/{n}", b"\0%d" % n) for n in range(100)])
    whole = (await store.range("/a/")).kvs
    monkeypatch.setattr(reading, "_cut", lambda *_args: None)
    assert (await store.range("/a/")).kvs == whole


async def test_range_reads_values_of_any_size(open_store, monkeypatch):
    monkeypatch.setattr(reading, "_BLOB_BYTES", 5000)
    store = await open_store()
    values = [b"x" * size for size in (0, 10_000, 1, 0, 0, 200_000, 7)] * 30
    await store.txn([Put(f"/a/{n:03}", value) for n, value in enumerate(values)])
    assert [kv.value for kv in (await store.range("/a/")).kvs] == values


@given(values=st.lists(st.binary(max_size=20), min_size=1, max_size=5))
def test_cut_splits_joined_values(values):
    lengths = [len(value) for value in values]
    assert reading._cut(b"".join(values), lengths) == values
    assert reading._cut(b"".join(values), [*lengths, 1]) is None


@pytest.mark.interpreted
async def test_range_raises_compacted_when_its_history_is_deleted_meanwhile(open_store, monkeypatch):
    store = await open_store()
    for n in range(300):
        await store.txn([Put(f"/a/{n % 100}", b"%d" % n)])
    range_of = reading.Reader.range

    def compact_first(self, *args, **kwargs):
        asyncio.run_coroutine_threadsafe(store.compact(290), loop).result(10)
        while self.history_bytes() > 10_000:
            continue
        return range_of(self, *args, **kwargs)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(reading.Reader, "range", compact_first)
    with pytest.raises(Compacted):
        await store.range("/a/", revision=150)


async def test_range_shares_the_strings_of_the_index(open_store):
    store = await open_store()
    await store.txn([Put("/a/" + "x" * 10, b"1")])
    (kv,) = (await store.range("/a/")).kvs
    assert kv.key is store._pipeline.index[kv.key].key


@pytest.mark.parametrize("rows", [1, 2, 7])
async def test_catch_up_reads_steps_of_whole_revisions(open_store, monkeypatch, rows):
    monkeypatch.setattr(reading, "_CATCH_UP_ROWS", rows)
    store = await open_store(squash_prefixes=["/beat/"])
    for n in range(20):
        await store.txn([Put("/a/x", b"%d" % n), Put(f"/b/{n}", b""), Put("/beat/x", b"%d" % n)])
        await store.txn([Delete(f"/b/{n}")])
    batches = []
    await store.watch("/", batches.append, after_revision=8, on_lost=batches.append)
    events = [event for batch in batches for event in batch.events]
    revisions = [event.mod_revision for event in events]
    assert revisions == sorted(revisions)
    assert [event.value for event in events if event.key == "/a/x"] == [b"%d" % n for n in range(2, 20)]
    assert len([event for event in events if event.key.startswith("/b/")]) == 36
    assert [event.value for event in events if event.key == "/beat/x"] == [b"19"]
    assert all(
        {e.mod_revision for e in a.events}.isdisjoint(e.mod_revision for e in b.events) for a, b in pairwise(batches)
    )


@pytest.mark.parametrize(("bound", "value", "pieces"), [("_CATCH_UP_ROWS", 5, 4), ("_CATCH_UP_BYTES", 30, 7)])
async def test_catch_up_reads_created_keys_in_steps(open_store, monkeypatch, bound, value, pieces):
    monkeypatch.setattr(reading, bound, value)
    store = await open_store()
    for n in range(20):
        await store.txn([Put(f"/a/{n}", b"x" * 10)])
    batches = []
    await store.watch("/a/", batches.append, after_revision=0, on_lost=batches.append)
    assert len(batches) == pieces
    assert [event.key for batch in batches for event in batch.events] == [f"/a/{n}" for n in range(20)]


async def test_catch_up_yields_to_the_event_loop(open_store, monkeypatch):
    monkeypatch.setattr(reading, "_CATCH_UP_ROWS", 5)
    store = await open_store()
    for n in range(100):
        await store.txn([Put("/a/x", b"%d" % n)])
    batches = []
    watching = asyncio.ensure_future(store.watch("/a/", batches.append, after_revision=0, on_lost=batches.append))
    await asyncio.wait([watching], timeout=0)
    assert not watching.done()
    await watching
    assert len([event for batch in batches for event in batch.events]) == 100


async def test_watch_raises_compacted_when_compacted_during_catch_up(open_store, monkeypatch):
    monkeypatch.setattr(reading, "_CATCH_UP_ROWS", 5)
    store = await open_store()
    for n in range(100):
        await store.txn([Put("/a/x", b"%d" % n)])
    watching = asyncio.ensure_future(store.watch("/a/", lambda _: None, after_revision=0, on_lost=lambda _: None))
    await asyncio.wait([watching], timeout=0)
    await store.compact(100)
    with pytest.raises(Exception, match="compacted"):
        await watching
