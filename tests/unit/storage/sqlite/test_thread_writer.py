"""The thread's own behaviour; ``tests/conformance/storage/test_writers.py`` has what both bodies share."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import RealClock
from steersman.storage.sqlite import SqliteStore, thread_writer
from steersman.storage.sqlite.batches import Batches
from steersman.storage.sqlite.thread_writer import ThreadWriter
from steersman.storage.store import Put, Unavailable

CLOCK = RealClock()


@pytest.fixture
def writer():
    return "thread"


def writer_threads():
    return [thread for thread in threading.enumerate() if thread.name == "store writer"]


def open_files():
    return [fd.resolve() for fd in Path("/proc/self/fd").iterdir()]


def suffixes(path):
    return sorted(part.name.removeprefix("store.db") for part in path.parent.iterdir())


async def test_store_with_a_thread_starts_no_process_and_leaves_no_thread(open_store):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    assert isinstance(store._pipeline.writer, ThreadWriter)
    assert [thread.daemon for thread in writer_threads()] == [True]
    await store.close()
    assert writer_threads() == []


async def test_close_leaves_no_descriptors(open_store, path):
    for _ in range(3):
        store = await open_store()
        await store.txn([Put("/a", b"1")])
        await store.close()
    assert not [target for target in open_files() if target.parent == path.parent]


async def test_upkeep_runs_when_no_message_waits(open_store, monkeypatch):
    monkeypatch.setattr("steersman.storage.sqlite.batches._UPKEEP_SECONDS", 0.01)
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    batches = store._pipeline.writer._file.batches
    async with asyncio.timeout(HANG_SECONDS):
        while batches.is_dirty:
            await asyncio.to_thread(int)
    await store.txn([Put("/b", b"1")])


@pytest.mark.interpreted
async def test_writes_gather_while_frames_are_in_flight(open_store, path, monkeypatch):
    monkeypatch.setattr(thread_writer, "FRAMES_MAX", 1)
    store = await open_store()
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        first = asyncio.ensure_future(store.txn([Put("/a", b"1")]))
        await asyncio.to_thread(int)
        await asyncio.to_thread(int)
        assert not store._pipeline.writer.has_room
        more = [asyncio.ensure_future(store.txn([Put(f"/{n}", b"1")])) for n in range(9)]
        await asyncio.to_thread(int)
        assert len(store._pipeline._gathered) == 9
        other.execute("ROLLBACK")
    other.close()
    assert await asyncio.gather(first, *more) == list(range(1, 11))


async def test_unexpected_error_keeps_what_is_durable_and_refuses_all_later_writes(
    open_store, path, monkeypatch, caplog
):
    store = await open_store()
    await store.txn([Put("/a", b"1")])

    def fail_at_the_second(self):
        if self._acks.record.revision == 2:
            raise RuntimeError("out of order")

    monkeypatch.setattr(Batches, "sync_when_due", fail_at_the_second)  # after the answer
    assert await store.txn([Put("/b", b"1")]) == 2
    with pytest.raises(Unavailable, match="the writer thread has ended: out of order"):
        await store.txn([Put("/c", b"1")])
    with pytest.raises(Unavailable, match="the writer thread has ended: out of order"):
        await store.check_writable()
    assert [kv.key for kv in (await store.range("/")).kvs] == ["/a", "/b"]
    monkeypatch.undo()
    await store.close()
    assert "-wal" in suffixes(path)
    store = await open_store()
    assert [kv.key for kv in (await store.range("/")).kvs] == ["/a", "/b"]
    await store.txn([Put("/c", b"1")])
    assert "the writer thread has ended" in caplog.text


async def test_unexpected_error_before_the_answer_settles_what_is_on_disk(open_store, monkeypatch):
    store = await open_store()

    def fail(_self, _frames, _error):
        raise RuntimeError("out of order")

    monkeypatch.setattr(thread_writer._Inbox, "answer", fail)
    assert await store.txn([Put("/a", b"1")]) == 1
    with pytest.raises(Unavailable, match="out of order"):
        await store.txn([Put("/b", b"1")])


async def test_close_keeps_the_log_when_the_session_cannot_be_closed(open_store, path, monkeypatch):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    with monkeypatch.context() as patched:
        patched.setattr(Batches, "close_session", lambda _self: False)
        await store.close()
    assert "-wal" in suffixes(path)
    store = await open_store()
    assert (await store.get("/a")).value == b"1"


@pytest.mark.interpreted
async def test_abandoned_file_stays_open_when_it_cannot_be_read(open_store, path, monkeypatch, caplog):
    store = await open_store()
    await store.txn([Put("/a", b"1")])

    def fail(_path):
        raise sqlite3.OperationalError("disk I/O error")

    reports = []
    with monkeypatch.context() as patched:
        patched.setattr(Batches, "close_session", lambda _self: False)
        patched.setattr(thread_writer, "connect_reader", fail)
        patched.setattr(thread_writer, "_unclosable", reports)
        await store.close()
    assert "-wal" in suffixes(path)
    assert "stays open, as it cannot be read: disk I/O error" in caplog.text
    store = await open_store()
    assert (await store.get("/a")).value == b"1"
    await store.close()
    reports[0].close()


async def test_write_finishes_beside_a_loop_that_never_rests(open_store):
    store = await open_store()
    is_done = False

    async def compute():
        while not is_done:
            sum(range(1_000))
            await CLOCK.sleep(0)

    busy = asyncio.ensure_future(compute())
    async with asyncio.timeout(HANG_SECONDS):
        for number in range(20):
            await store.txn([Put(f"/{number}", b"1")])
    is_done = True
    await busy


@pytest.mark.interpreted
async def test_loop_releases_gil_only_while_frames_make_no_progress(open_store, path, monkeypatch):
    waits = []
    monkeypatch.setattr(thread_writer, "STARVED_SECONDS", 0.0)
    store = await open_store()
    writer = store._pipeline.writer
    monkeypatch.setattr(writer._gil_release, "wait", lambda: waits.append(len(writer._in_flight)) or 0.0)
    await store.txn([Put("/a", b"1")])
    while writer._look is not None:
        await asyncio.to_thread(int)
    waits.clear()
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        write = asyncio.ensure_future(store.txn([Put("/b", b"1")]))
        async with asyncio.timeout(HANG_SECONDS):
            while len(waits) < 3:
                await asyncio.to_thread(int)
        other.execute("ROLLBACK")
    other.close()
    await write
    assert set(waits) == {1}


def test_thread_survives_the_end_of_its_loop(path, clock):
    async def open_and_write():
        store = await SqliteStore.open(path, clock=clock, writer="thread")
        write = asyncio.ensure_future(store.txn([Put("/a", b"1")]))
        while not store._pipeline._in_flight:
            await asyncio.wait([write], timeout=0)
        return store

    runner = asyncio.Runner()
    store = runner.run(open_and_write())
    runner.close()
    writer = store._pipeline.writer
    deadline = time.monotonic() + HANG_SECONDS
    while writer._inbox.is_waiting() and time.monotonic() < deadline:
        time.sleep(0)
    assert writer._worker.is_alive()
    store._files.close_readers()
    writer.detach()
    writer.end()
    store._files.release()
    assert not writer._worker.is_alive()
