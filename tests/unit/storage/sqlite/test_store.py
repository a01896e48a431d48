from __future__ import annotations

import asyncio
import sqlite3
import threading

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.storage.sqlite import SqliteStore, StoreLocked
from steersman.storage.sqlite.reader import Reader
from steersman.storage.store import Compacted, Delete, Put, Unavailable


async def test_revisions_continue_after_reopening_an_empty_store(open_store):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    await store.txn([Delete("/a")])
    await store.compact(2)
    await store.close()
    store = await open_store()
    assert (store.revision, store.compact_revision) == (2, 2)
    assert await store.txn([Put("/a", b"1")]) == 3


@pytest.mark.parametrize(
    "last", [Put("/beat/x", b"2"), Put("/a/x", b"2"), Put("/a/new", b"1"), Delete("/a/x"), Delete("/beat/x")]
)
@pytest.mark.parametrize("forgotten", [False, True])
async def test_revisions_continue_after_reopening_for_any_last_write(open_store, last, forgotten):
    store = await open_store(squash_prefixes=["/beat/"])
    for op in (Put("/a/x", b"1"), Put("/beat/x", b"1"), Put("/a/gone", b"1"), Delete("/a/gone"), last):
        await store.txn([op])
    if forgotten:
        await store.compact(5)
    await store.close()
    assert (await open_store(squash_prefixes=["/beat/"])).revision == 5


async def test_history_is_readable_after_reopening(open_store):
    store = await open_store()
    for n in range(3):
        await store.txn([Put("/a/x", b"%d" % n)])
    await store.close()
    store = await open_store()
    assert (await store.get("/a/x", revision=2)).value == b"1"
    batches = []
    await store.watch("/a/", batches.append, after_revision=0, on_lost=batches.append)
    assert [event.value for batch in batches for event in batch.events] == [b"0", b"1", b"2"]


async def test_history_of_squashed_prefixes_ends_with_a_restart(open_store):
    store = await open_store(squash_prefixes=["/beat/"])
    await store.txn([Put("/beat/x", b"1")])
    await store.txn([Put("/b", b"1")])
    await store.close()
    store = await open_store(squash_prefixes=["/beat/"])
    with pytest.raises(Compacted):
        await store.get("/beat/x", revision=1)
    assert (await store.get("/b", revision=2)).value == b"1"


async def test_overwrites_of_squashed_keys_do_not_grow_the_file(open_store):
    store = await open_store(squash_prefixes=["/beat/"])
    for n in range(20):
        await store.txn([Put(f"/beat/{n}", b"x" * 500)])
    await store.close()
    store = await open_store(squash_prefixes=["/beat/"])
    before = await store.size_bytes()
    await store.close()
    for _ in range(3):
        store = await open_store(squash_prefixes=["/beat/"])
        for beat in range(50):
            await store.txn([Put(f"/beat/{n}", b"%03d" % beat * 166) for n in range(20)])
        await store.close()
    store = await open_store(squash_prefixes=["/beat/"])
    assert await store.size_bytes() <= before + 3 * 4096


async def test_range_does_not_block_the_event_loop(open_store, monkeypatch):
    store = await open_store()
    await store.txn([Put("/a/x", b"1")])
    written = threading.Event()
    plain = Reader.range

    def only_after_the_write(*args, **kwargs):
        assert written.wait(timeout=HANG_SECONDS), "the loop stood still"
        return plain(*args, **kwargs)

    monkeypatch.setattr(Reader, "range", only_after_the_write)
    reading = asyncio.ensure_future(store.range("/a/"))
    await store.txn([Put("/b", b"")])
    written.set()
    assert [kv.key for kv in (await reading).kvs] == ["/a/x"]


async def test_loop_may_end_without_closing_the_store(path, clock):
    def use():
        async def main():
            store = await SqliteStore.open(path, clock=clock)
            await store.txn([Put("/a", b"1")])
            return store

        return asyncio.run(main())

    store = await asyncio.to_thread(use)
    store._close_files()
    assert count(path, "latest") == 1


@pytest.mark.interpreted
async def test_read_error_is_unavailable(open_store, monkeypatch):
    store = await open_store()
    await store.txn([Put("/a", b"1")])

    def fail(*_args, **_kwargs):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(store._files.inline, "get", fail)
    with pytest.raises(Unavailable, match="disk I/O error"):
        await store.get("/a")


def count(path, table):
    connection = sqlite3.connect(path)
    rows = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    connection.close()
    return rows


async def test_cancelled_open_releases_the_file(open_store, path, clock):
    opening = asyncio.ensure_future(SqliteStore.open(path, clock=clock))
    await asyncio.wait([opening], timeout=0)
    opening.cancel()
    await asyncio.wait([opening])
    async with asyncio.timeout(HANG_SECONDS):
        while not await is_free(path, clock):
            await asyncio.to_thread(int)


async def test_cancelled_close_completes(open_store):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    closing = asyncio.ensure_future(store.close())
    await asyncio.wait([closing], timeout=0)
    closing.cancel()
    await store.close()
    assert (await open_store()).revision == 1


async def is_free(path, clock):
    try:
        store = await SqliteStore.open(path, clock=clock)
    except StoreLocked:
        return False
    await store.close()
    return True
