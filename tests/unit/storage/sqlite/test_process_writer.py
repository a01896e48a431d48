"""The loop's end of a socket whose other end is in the test's hands, or at a real process."""

from __future__ import annotations

import asyncio
import logging
import marshal
import os
import signal
import socket
import sqlite3

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.storage.sqlite import batches
from steersman.storage.sqlite.batches import POSITION_BITS
from steersman.storage.sqlite.process_writer import ProcessWriter
from steersman.storage.store import Put, Unavailable

#: A fake stands for the process.
pytestmark = pytest.mark.interpreted

ROW = (2, 1 << POSITION_BITS, "/a", 1, 0, b"1")


@pytest.fixture
def writer():
    """Return the body whose process the tests stop and kill."""
    return "process"


class Process:
    """In the place of a ``Child``: the other end is ``theirs``."""

    def __init__(self):
        self.socket, self.theirs = socket.socketpair()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        self.answers = self.socket.fileno()
        self.theirs.settimeout(10)
        self.reaped = 0

    def reap(self):
        self.reaped += 1
        self.close()
        return -9

    def end(self):
        self.theirs.close()

    def close(self):
        self.socket.close()
        self.theirs.close()

    def receive(self):
        size = int.from_bytes(self.theirs.recv(4), "little")
        data = b""
        while len(data) < size:
            data += self.theirs.recv(size - len(data))
        return marshal.loads(data)

    def answer(self, text="", *, frames=1):
        self.theirs.sendall(batches.answer(frames, text))


class Writing:
    """A writer, what it has settled, and what a start gives and the disk says."""

    def __init__(self):
        self.processes = [Process()]
        self.settled = asyncio.Queue()
        self.on_disk = 0
        self.next_start = None
        self.writer = ProcessWriter(self.processes[0], self.hear, start=self.start, reached=self.reached)

    def reached(self, fingerprints):
        self.fingerprints = fingerprints
        return self.on_disk

    def hear(self, frames, error):
        self.settled.put_nowait((frames, error))

    def start(self):
        if self.next_start is not None:
            raise self.next_start
        self.processes.append(Process())
        return self.processes[-1]

    async def answer(self):
        return await asyncio.wait_for(self.settled.get(), HANG_SECONDS)


@pytest.fixture
async def writing():
    writing = Writing()
    yield writing
    writing.writer.detach()
    for process in writing.processes:
        process.close()


async def test_writer_sends_frames_and_reports_results(writing):
    writing.writer.persist([ROW], [("SELECT ?", (1.5,))], revision=1, fingerprint=9)
    assert writing.processes[0].receive() == (0, [ROW], [("SELECT ?", (1.5,))], 1, 9)
    writing.processes[0].answer()
    assert await writing.answer() == (1, "")
    writing.writer.persist([ROW], [], revision=2, fingerprint=9)
    assert writing.processes[0].receive() == (0, [ROW], [], 2, 9)
    writing.processes[0].answer("database or disk is full: ä")
    assert await writing.answer() == (0, "database or disk is full: ä")


async def test_writer_sends_further_frames_before_a_result(writing):
    for revision in (1, 2, 3):
        assert writing.writer.has_room
        writing.writer.persist([ROW], [], revision=revision, fingerprint=9)
    writing.processes[0].answer(frames=2)
    writing.processes[0].answer(frames=1)
    assert await writing.answer() == (2, "")
    assert await writing.answer() == (1, "")


async def test_writer_increments_the_epoch_after_a_failure(writing):
    writing.writer.persist([ROW], [], revision=1, fingerprint=9)
    writing.writer.persist([ROW], [], revision=2, fingerprint=9)
    writing.processes[0].answer("wrong", frames=1)
    assert await writing.answer() == (0, "wrong")
    writing.writer.persist([ROW], [], revision=3, fingerprint=9)
    assert [writing.processes[0].receive()[0] for _ in range(3)] == [0, 0, 1]
    writing.processes[0].answer()
    assert await writing.answer() == (1, "")


async def test_writer_assembles_a_partial_result(writing):
    writing.writer.persist([ROW], [], revision=1, fingerprint=9)
    for byte in batches.answer(1, "wrong"):
        writing.processes[0].theirs.sendall(bytes([byte]))
        writing.writer._receive()
    assert await writing.answer() == (0, "wrong")
    writing.writer._receive()  # woken for nothing
    assert writing.settled.empty()


async def test_writer_sends_the_rest_when_there_is_room(writing):
    rows = [(2, 1 << POSITION_BITS, "/a", 1, 0, os.urandom(3_000_000))]
    writing.writer.persist(rows, [], revision=1, fingerprint=9)
    writing.writer.forget(1)
    assert not writing.writer.has_room
    assert await asyncio.to_thread(writing.processes[0].receive) == (0, rows, [], 1, 9)
    assert await asyncio.to_thread(writing.processes[0].receive) == 2 << POSITION_BITS
    assert await writing.answer() == (0, "")
    assert writing.writer.has_room
    writing.processes[0].answer()
    assert await writing.answer() == (1, "")


async def test_persist_raises_for_values_that_cannot_be_encoded(writing):
    with pytest.raises(ValueError, match="unmarshallable"):
        writing.writer.persist([(object(),)], [], revision=1, fingerprint=9)
    writing.writer.persist([ROW], [], revision=1, fingerprint=9)
    assert writing.processes[0].receive() == (0, [ROW], [], 1, 9)
    writing.processes[0].answer()
    assert await writing.answer() == (1, "")


@pytest.mark.parametrize(("on_disk", "is_kept"), [(0, 0), (5, 0), (6, 1), (8, 3), (9, 4)])
async def test_writes_on_disk_are_settled_when_the_process_dies(writing, on_disk, is_kept, caplog):
    writing.on_disk = on_disk
    for revision in (6, 0, 8, 9):
        writing.writer.persist([ROW] if revision else [], [("SELECT 1", ())], revision=revision, fingerprint=9)
    writing.processes[0].theirs.close()
    assert await writing.answer() == (is_kept, "" if is_kept == 4 else "the writer process ended with code -9")
    assert writing.processes[0].reaped == 1
    assert "the writer process ended with code -9; the next write starts another" in caplog.text


async def test_idle_process_that_dies_fails_no_write(writing):
    writing.processes[0].theirs.close()
    assert await writing.answer() == (0, "")
    assert writing.writer.has_room


async def test_writes_without_rows_fail_when_the_process_dies(writing):
    writing.on_disk = 5
    writing.writer.persist([], [("SELECT 1", ())], revision=0, fingerprint=9)
    writing.processes[0].theirs.close()
    assert await writing.answer() == (0, "the writer process ended with code -9")


async def test_next_batch_after_a_death_starts_a_process_and_repeats_forget(writing):
    writing.writer.forget(3)
    writing.writer.persist([ROW], [], revision=1, fingerprint=9)
    writing.processes[0].theirs.close()
    assert await writing.answer() == (0, "the writer process ended with code -9")
    writing.writer.forget(4)
    assert len(writing.processes) == 1
    writing.writer.persist([ROW], [], revision=2, fingerprint=9)
    async with asyncio.timeout(HANG_SECONDS):
        while len(writing.processes) == 1:
            await asyncio.to_thread(int)
    second = writing.processes[1]
    assert await asyncio.to_thread(second.receive) == (0, [ROW], [], 2, 9)
    assert await asyncio.to_thread(second.receive) == 5 << POSITION_BITS
    second.answer()
    assert await writing.answer() == (1, "")


async def test_failed_start_of_a_process_fails_the_batch_and_is_retried(writing):
    writing.writer.persist([ROW], [], revision=1, fingerprint=9)
    writing.processes[0].theirs.close()
    assert await writing.answer() == (0, "the writer process ended with code -9")
    writing.next_start = OSError("no memory")
    writing.writer.persist([ROW], [], revision=2, fingerprint=9)
    assert await writing.answer() == (0, "no writer process: no memory")
    writing.next_start = None
    writing.writer.persist([ROW], [], revision=3, fingerprint=9)
    async with asyncio.timeout(HANG_SECONDS):
        while len(writing.processes) == 1:
            await asyncio.to_thread(int)
    assert await asyncio.to_thread(writing.processes[1].receive) == (0, [ROW], [], 3, 9)


async def test_detach_ignores_the_end_of_the_process(writing):
    process = writing.processes[0]
    writing.writer.persist([ROW], [], revision=1, fingerprint=9)
    process.theirs.close()
    writing.writer._receive()
    writing.writer.detach()
    async with asyncio.timeout(HANG_SECONDS):
        while not process.reaped:
            await asyncio.to_thread(int)
    await asyncio.to_thread(int)
    assert writing.settled.empty()


async def test_end_reaps_a_process_with_a_partly_sent_frame(writing):
    process = writing.processes[0]
    writing.writer.persist([(2, 1 << POSITION_BITS, "/a", 1, 0, b"x" * 3_000_000)], [], revision=1, fingerprint=9)
    writing.writer.detach()
    writing.writer.end()
    assert process.reaped == 1


async def test_end_requests_the_end_when_all_is_sent(writing):
    writing.writer.persist([ROW], [], revision=1, fingerprint=9)
    writing.writer.detach()
    writing.writer.end()
    assert writing.processes[0].theirs.fileno() == -1
    assert writing.processes[0].reaped == 0


# With real processes.


def pid(store):
    return store._pipeline.writer._child.process.pid


async def test_writes_in_flight_fail_when_the_process_dies_and_later_ones_succeed(open_store, caplog):
    store = await open_store()
    assert await store.txn([Put("/a", b"1")]) == 1
    first = pid(store)
    os.kill(first, signal.SIGSTOP)
    writes = [asyncio.ensure_future(store.txn([Put("/b", b"1"), Put("/a", b"2")])) for _ in range(3)]
    while not store._pipeline._in_flight:
        await asyncio.wait(writes, timeout=0)
    os.kill(first, signal.SIGKILL)
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 3
    assert "the writer process ended with code -9" in str(outcomes[0])
    assert [(kv.key, kv.value) for kv in (await store.range("/")).kvs] == [("/a", b"1")]
    revision = await store.txn([Put("/a", b"3", expected=1)])
    assert pid(store) != first
    await store.close()
    store = await open_store()
    assert (store.revision, (await store.get("/a")).value) == (revision, b"3")
    assert "the next write starts another" in caplog.text


async def test_idle_process_that_dies_is_replaced_without_failed_writes(open_store, caplog):
    caplog.set_level(logging.ERROR)
    store = await open_store()
    assert await store.txn([Put("/a", b"1")]) == 1
    child = store._pipeline.writer._child
    os.kill(child.process.pid, signal.SIGKILL)
    async with asyncio.timeout(HANG_SECONDS):
        while store._pipeline.writer._child is child or child.process.returncode is None:
            await asyncio.to_thread(int)
    assert await store.txn([Put("/a", b"2")]) == 2


async def test_close_succeeds_after_the_process_died(open_store, path):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    os.kill(pid(store), signal.SIGKILL)
    await store.close()
    assert (await (await open_store()).get("/a")).value == b"1"


async def test_close_leaves_no_process(open_store):
    store = await open_store()
    process = store._pipeline.writer._child.process
    await store.close()
    assert process.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


async def test_damaged_file_during_operation_is_unavailable(open_store, path):
    store = await open_store()
    await store.txn([Put("/a", b"1")])
    with sqlite3.connect(path) as other:
        other.execute("CREATE TRIGGER refuse BEFORE INSERT ON latest BEGIN SELECT raise(ABORT, 'out of order'); END")
    other.close()
    with pytest.raises(Unavailable, match="out of order"):
        await store.txn([Put("/b", b"1")])
