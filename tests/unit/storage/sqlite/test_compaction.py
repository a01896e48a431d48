from __future__ import annotations

import asyncio
import sqlite3

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.storage.store import Compacted, Put, Unavailable


async def test_compact_revision_persists_after_reopening(open_store):
    store = await open_store()
    for n in range(3):
        await store.txn([Put("/a/x", b"%d" % n)])
    await store.compact(2)
    await store.close()
    store = await open_store()
    with pytest.raises(Compacted):
        await store.get("/a/x", revision=1)


async def test_compact_deletes_history_in_the_background(open_store, path):
    store = await open_store()
    for n in range(1000):
        await store.txn([Put("/a/x", b"%d" % n)])
    await store.compact(990)
    await store.close()
    store = await open_store()  # what the first did not get done, the second does
    async with asyncio.timeout(HANG_SECONDS):
        while await asyncio.to_thread(count, path, "history") > 10:
            await store.txn([])
    assert (await store.get("/a/x", revision=990)).value == b"989"


async def test_compact_does_not_block_writers(open_store):
    store = await open_store()
    for n in range(2000):
        await store.txn([Put(f"/a/{n % 10}", b"%d" % n)])

    async def write(name):
        return [await store.txn([Put(f"/b/{name}", b"%d" % n)]) for n in range(100)]

    writers = [asyncio.ensure_future(write(n)) for n in range(4)]
    for revision in range(100, 2000, 100):
        await store.compact(revision)
    await asyncio.gather(*writers)
    assert store.revision == 2400
    assert store.compact_revision == 1900
    assert (await store.get("/a/9", revision=1900)).value == b"1899"


def count(path, table):
    connection = sqlite3.connect(path)
    rows = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    connection.close()
    return rows


async def test_keep_bounds_compacts_a_large_history(open_store):
    store = await open_store(history_max_bytes=300_000)
    for n in range(3000):
        await store.txn([Put("/a/x", b"%04d" % n * 100)])
    await store._compactor.keep_bounds()
    retained = store.revision - store.compact_revision
    assert 450 <= retained <= 550  # 600 bytes each
    assert (await store.get("/a/x", revision=store.compact_revision)).value.startswith(b"2")


@pytest.mark.interpreted
async def test_keep_bounds_logs_and_retries_a_failure(open_store, clock, monkeypatch, caplog):
    store = await open_store(history_retention_seconds=100)
    await store.txn([Put("/a/x", b"1")])

    def fail(*_args, **_kwargs):
        raise Unavailable("no disk")

    with monkeypatch.context() as patched:
        patched.setattr(store._files, "read", fail)
        await clock.advance(120)
    assert "history was not compacted, will be tried again: no disk" in caplog.text
    await store.txn([Put("/a/x", b"2")])
    await clock.advance(120)
    assert store.compact_revision == 2
