"""How writes share commits, and a disk that refuses.

A limit on the size of files makes the kernel fail the writes of the
process that writes, and lifting it heals them.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
from contextlib import contextmanager

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.storage.sqlite import pipeline
from steersman.storage.sqlite.pipeline import BATCH_WRITES_MAX
from steersman.storage.sqlite.process_writer import ProcessWriter
from steersman.storage.store import Conflict, Delete, Event, Put, Unavailable

BIG = b"x" * 100_000


@pytest.fixture
def writer():
    """Return the body whose process the tests stop and kill."""
    return "process"


@contextmanager
def full_disk(store, path):
    """Prevent files from growing beyond the present size of the store's log."""
    process = store._pipeline.writer._child.process
    size = path.with_name(path.name + "-wal").stat().st_size
    soft, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        if process.returncode is None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def batches(monkeypatch):
    """The numbers of rows of all batches from now on."""
    sizes = []
    persist = ProcessWriter.persist

    def record(self, rows, statements, **kwargs):
        sizes.append(len(rows))
        persist(self, rows, statements, **kwargs)

    monkeypatch.setattr(ProcessWriter, "persist", record)
    return sizes


@pytest.mark.interpreted
async def test_writes_of_one_loop_pass_share_a_commit(open_store, batches):
    store = await open_store()
    await asyncio.gather(*(store.txn([Put(f"/a/{n}", b"1")]) for n in range(16)))
    assert batches == [16]


@pytest.mark.interpreted
async def test_writes_are_sent_while_others_are_in_flight(open_store, batches):
    store = await open_store()
    process = store._pipeline.writer._child.process
    process.send_signal(signal.SIGSTOP)
    writes = []
    for n in range(3):
        writes.append(asyncio.ensure_future(store.txn([Put(f"/a/{n}", b"1")])))
        while len(batches) == n:
            await asyncio.wait(writes, timeout=0)
    process.send_signal(signal.SIGCONT)
    assert await asyncio.gather(*writes) == [1, 2, 3]
    assert batches == [1, 1, 1]


@pytest.mark.interpreted
async def test_writes_are_collected_while_the_writer_has_no_room(open_store, batches):
    store = await open_store()
    store._pipeline.writer._child.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    process = store._pipeline.writer._child.process
    process.send_signal(signal.SIGSTOP)
    writes = [asyncio.ensure_future(store.txn([Put("/a", BIG * 30)]))]
    while not batches:
        await asyncio.wait(writes, timeout=0)
    for n in range(3):
        writes.append(asyncio.ensure_future(store.txn([Put(f"/b/{n}", b"1")])))
        await asyncio.wait(writes, timeout=0)
    process.send_signal(signal.SIGCONT)
    assert await asyncio.gather(*writes) == [1, 2, 3, 4]
    assert batches == [1, 3]


@pytest.mark.interpreted
async def test_batch_is_bounded_by_writes(open_store, batches):
    store = await open_store()
    await asyncio.gather(*(store.txn([Put(f"/a/{n}", b"1")]) for n in range(600)))
    assert batches == [BATCH_WRITES_MAX, BATCH_WRITES_MAX, 600 - 2 * BATCH_WRITES_MAX]


@pytest.mark.interpreted
async def test_batch_is_bounded_by_bytes(open_store, batches, monkeypatch):
    monkeypatch.setattr(pipeline, "BATCH_BYTES_MAX", 250_000)
    store = await open_store()
    await asyncio.gather(*(store.txn([Put(f"/a/{n}", BIG)]) for n in range(5)))
    await store.txn([Put(f"/b/{n}", BIG) for n in range(4)])
    assert batches == [2, 2, 1, 4]


async def test_transaction_of_many_rows_is_one_batch(open_store):
    store = await open_store()
    for count in (1, 2, 63, 64, 65, 1000):
        await store.txn([Put(f"/{count}/{n}", b"%d" % n) for n in range(count)])
        assert (await store.range(f"/{count}/", limit=1)).count == count


@pytest.mark.interpreted
async def test_write_that_cannot_be_encoded_is_refused_alone(open_store, batches):
    store = await open_store()
    before = asyncio.ensure_future(store.txn([Put("/a", b"1")]))
    while not batches:
        await asyncio.wait([before], timeout=0)
    with pytest.raises(Unavailable, match="not persisted: unmarshallable"):
        await store._pipeline.accept([Put("/a", b"2"), Put("/b", b"1")], [("SELECT ?", (object(),))])
    assert await before == 1
    assert await store.get("/b") is None
    assert await store.txn([Put("/a", b"3", expected=1)]) == 4


async def test_write_on_a_full_disk_is_unavailable_without_effect(open_store, path):
    store = await open_store()
    revision = await store.txn([Put("/a/x", b"old")])
    batches = []
    await store.watch("/a/", batches.append, after_revision=revision, on_lost=batches.append)
    with full_disk(store, path):
        with pytest.raises(Unavailable, match="not persisted"):
            await store.txn([Put("/a/x", b"new"), Put("/a/y", BIG)])
        assert (await store.get("/a/x")).value == b"old"
        assert store.revision == revision
        assert batches == []


async def test_writes_after_a_failed_one_fail_too(open_store, path):
    store = await open_store()
    await store.txn([Put("/a/x", b"old")])
    with full_disk(store, path):
        outcomes = await asyncio.gather(
            store.txn([Put("/a/x", BIG)]),
            *(store.txn([Put(f"/b/{n}", b"small")]) for n in range(600)),
            return_exceptions=True,
        )
    assert {type(outcome) for outcome in outcomes} == {Unavailable}
    assert [kv.value for kv in (await store.range("/")).kvs] == [b"old"]


async def test_writes_succeed_after_space_is_freed(open_store, path):
    store = await open_store()
    first = await store.txn([Put("/a/x", b"old")])
    batches = []
    await store.watch("/a/", batches.append, after_revision=first, on_lost=batches.append)
    with full_disk(store, path), pytest.raises(Unavailable):
        await store.txn([Put("/a/x", BIG, expected=first), Delete("/none")])
    second = await store.txn([Put("/a/x", BIG, expected=first)])
    assert second > first
    assert [batch.events for batch in batches] == [(Event("/a/x", BIG, first, second),)]
    await store.close()
    assert (await (await open_store()).get("/a/x")).mod_revision == second


async def test_refused_write_causes_no_conflict(open_store, path):
    """A decision based on a failed write is repeated."""
    store = await open_store()
    await store.txn([Put("/a/x", b"old")])
    with full_disk(store, path):
        outcomes = await asyncio.gather(
            store.txn([Put("/b/x", BIG, expected=0)]),
            store.txn([Put("/b/x", b"small", expected=0)]),
            return_exceptions=True,
        )
    assert isinstance(outcomes[0], Unavailable)
    assert not isinstance(outcomes[1], Conflict)


async def test_failed_removal_keeps_the_key(open_store, path):
    store = await open_store()
    revision = await store.txn([Put("/a/x", BIG)])
    with full_disk(store, path), pytest.raises(Unavailable):
        await store.txn([Delete("/a/x"), Put("/a/y", BIG)])
    assert await store.txn([Put("/a/x", b"2", expected=revision)]) > revision


async def test_failed_end_of_a_lease_is_retried(open_store, path, clock):
    store = await open_store()
    lease = await store.grant_lease(10)
    await store.txn([Put(f"/a/{n}", b"x" * 2000, lease_id=lease) for n in range(100)])
    batches = asyncio.Queue()
    await store.watch("/a/", batches.put_nowait, after_revision=store.revision, on_lost=batches.put_nowait)
    with full_disk(store, path):
        with pytest.raises(Unavailable):
            await store.revoke_lease(lease)
        assert len((await store.range("/a/")).kvs) == 100
        await store.keep_alive(lease)
    await clock.advance(11)
    assert len((await asyncio.wait_for(batches.get(), HANG_SECONDS)).events) == 100


async def test_failed_grant_leaves_no_lease(open_store, path):
    store = await open_store()
    await store.txn([Put("/a/x", b"old")])
    with full_disk(store, path), pytest.raises(Unavailable):
        await asyncio.gather(store.txn([Put("/a/y", BIG)]), store.grant_lease(10, lease_id=5))
    assert await store.grant_lease(10, lease_id=5) == 5


async def test_close_succeeds_on_a_full_disk(open_store, path):
    store = await open_store()
    await store.grant_lease(100)
    await store.txn([Put("/a/x", b"old")])
    with full_disk(store, path):
        with pytest.raises(Unavailable):
            await store.txn([Put("/a/y", BIG)])
        await store.close()
    assert (await (await open_store()).get("/a/x")).value == b"old"
