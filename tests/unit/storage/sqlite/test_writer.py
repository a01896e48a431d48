from __future__ import annotations

import asyncio
import sqlite3

from steersman.storage.sqlite.writer import BATCH_WRITES_MAX, Writer
from steersman.storage.store import Put


async def test_writes_that_wait_share_a_commit(open_store, monkeypatch):
    batches = []
    commit = Writer._commit

    def record(self, writes):
        batches.append(len(writes))
        commit(self, writes)

    monkeypatch.setattr(Writer, "_commit", record)
    store = await open_store()
    await asyncio.gather(*(store.txn([Put(f"/a/{n}", b"1")]) for n in range(1000)))
    assert sum(batches) == 1000
    assert len(batches) < 200
    assert max(batches) <= BATCH_WRITES_MAX


async def test_the_thread_is_woken_when_all_that_came_together_is_accepted(open_store, monkeypatch):
    accepted = []
    put = Writer.put

    def record(self, write):
        accepted.append(len(store._pipeline._pending))
        put(self, write)

    monkeypatch.setattr(Writer, "put", record)
    store = await open_store()
    await asyncio.gather(*(store.txn([Put(f"/a/{n}", b"1")]) for n in range(16)))
    assert accepted == [16] * 16


async def test_a_commit_that_happened_but_reported_an_error_counts(open_store, monkeypatch):
    commit = Writer._commit

    def report_an_error(self, writes):
        commit(self, writes)
        raise sqlite3.OperationalError("disk I/O error")

    store = await open_store()
    monkeypatch.setattr(Writer, "_commit", report_an_error)
    assert await store.txn([Put("/a", b"1")]) == 1
    assert (await store.get("/a")).value == b"1"


async def test_every_number_of_rows_up_to_several_statements_is_written(open_store):
    store = await open_store()
    for count in range(1, 140, 3):
        await store.txn([Put(f"/{count}/{n}", b"%d" % n) for n in range(count)])
        assert (await store.range(f"/{count}/", limit=1)).count == count
