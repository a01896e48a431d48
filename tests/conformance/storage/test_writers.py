"""Both bodies of ``Writer``: alone on real files, and under a store."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from contextlib import AsyncExitStack, closing, contextmanager

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import FakeClock
from steersman.storage.sqlite import SqliteStore
from steersman.storage.sqlite.batches import POSITION_BITS
from steersman.storage.sqlite.files import Files
from steersman.storage.sqlite.schema import Kind
from steersman.storage.sqlite.stalls import STALL_SECONDS
from steersman.storage.sqlite.store import start_writer
from steersman.storage.store import Put, Unavailable

#: Writes keys one after the other, reports each acknowledged revision, and waits to be killed.
CHILD = """
import asyncio, os, sys
from steersman.asynckit.clock import RealClock
from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Put
async def main(path, kind):
    store = await SqliteStore.open(path, clock=RealClock(), writer=kind)
    async def write(number):
        while True:
            revision = await store.txn([Put(f"/{number}", b"x" * 5000)])
            os.write(1, f"{number} {revision}\\n".encode())
    await asyncio.gather(*map(write, range(8)))
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(params=["process", "thread"])
def kind(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def created(revision, key, value=b"1"):
    return (int(Kind.CREATED), revision << POSITION_BITS, key, revision, 0, value)


def replaced(revision, key, value=b"2"):
    return (int(Kind.REPLACED), revision << POSITION_BITS, key, 1, 0, value)


class Writing:
    """A writer and its results."""

    def __init__(self, path, kind):
        self.path = path
        self.files, _, target = Files.open(path, kind)
        self._settled = asyncio.Queue()
        self.writer = start_writer(target, self.files, lambda *result: self._settled.put_nowait(result))
        self._is_ended = False

    def persist(self, *rows, statements=(), revision=0):
        revision = rows[-1][1] >> POSITION_BITS if rows else revision
        self.writer.persist(list(rows), list(statements), revision=revision, fingerprint=9)

    async def result(self):
        async with asyncio.timeout(HANG_SECONDS):
            return await self._settled.get()

    async def durable(self, frames):
        """Wait until this many frames are durable, and none has failed."""
        while frames > 0:
            count, error = await self.result()
            assert error == ""
            frames -= count
        assert frames == 0

    def settled_nothing(self):
        return self._settled.empty()

    def select(self, sql):
        with closing(sqlite3.connect(self.path)) as connection:
            return [value for (value,) in connection.execute(sql)]

    def end(self):
        if not self._is_ended:
            self._is_ended = True
            self.writer.detach()
            self.files.close_readers()
            self.writer.end()
            self.files.release()


@pytest.fixture
async def writing(path, kind):
    writing = Writing(path, kind)
    yield writing
    await asyncio.to_thread(writing.end)


async def test_frames_are_durable_in_order(writing):
    for revision in range(1, 21):
        writing.persist(created(revision, f"/{revision}"))
    settled = 0
    while settled < 20:
        frames, error = await writing.result()
        assert error == ""
        settled += frames
        assert writing.select("SELECT max(mod_revision) FROM latest")[0] >= settled
    assert writing.select("SELECT key FROM latest ORDER BY mod_revision") == [f"/{n}" for n in range(1, 21)]


async def test_statements_are_durable_with_the_rows_of_their_frame(writing):
    writing.persist(created(1, "/a"), statements=[("UPDATE mark SET revision = ? WHERE name = 'compacted'", (1,))])
    await writing.durable(1)
    assert writing.select("SELECT revision FROM mark WHERE name = 'compacted'") == [1]


async def test_failed_frame_fails_those_behind_it_and_later_ones_succeed(writing):
    writing.persist(created(1, "/a"))
    await writing.durable(1)
    writing.persist(created(2, "/a"))
    writing.persist(created(3, "/b"))
    frames, error = await writing.result()
    assert (frames, "UNIQUE" in error) == (0, True)
    writing.persist(created(4, "/c"))
    await writing.durable(1)
    assert writing.select("SELECT key FROM latest ORDER BY key") == ["/a", "/c"]


async def test_writer_has_room_again_after_results(writing):
    revision = 0
    while writing.writer.has_room:
        revision += 1
        writing.persist(created(revision, f"/{revision}", os.urandom(300_000)))
    while not writing.writer.has_room:
        assert (await writing.result())[1] == ""
    writing.persist(created(revision + 1, "/last"))
    async with asyncio.timeout(HANG_SECONDS):
        while writing.select("SELECT count(*) FROM latest") != [revision + 1]:
            await asyncio.to_thread(int)


async def test_forget_deletes_history(writing):
    writing.persist(created(1, "/a"), *[replaced(revision, "/a") for revision in range(2, 501)])
    await writing.durable(1)
    assert writing.select("SELECT count(*) FROM history") == [499]
    writing.writer.forget(490)
    async with asyncio.timeout(HANG_SECONDS):
        while writing.select("SELECT count(*) FROM history") != [10]:
            await asyncio.to_thread(int)


async def test_end_finishes_frames_settles_nothing_and_removes_the_log(writing, path, kind):
    for revision in range(1, 6):
        writing.persist(created(revision, f"/{revision}"))
    writing.writer.detach()
    await asyncio.to_thread(writing.end)
    await asyncio.to_thread(int)
    assert writing.settled_nothing()
    assert sorted(part.name for part in path.parent.iterdir()) == ["store.db", "store.db-ack", "store.db.lock"]
    assert writing.select("SELECT count(*) FROM latest") == [5]
    assert writing.select("SELECT is_closed FROM session") == [1]


# Under a store.


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def open_store(path, clock):
    async with AsyncExitStack() as stack:

        async def open_store(kind):
            store = await SqliteStore.open(path, clock=clock, disk_clock=clock, writer=kind)
            stack.push_async_callback(store.close)
            return store

        yield open_store


@contextmanager
def blocked(path):
    """Hold a lock that the writer waits for, as it would wait for a disk."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_failed_commit_is_refused_and_rolled_back(open_store, path, kind):
    store = await open_store(kind)
    await store.txn([Put("/a", b"1")])
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TRIGGER refuse BEFORE INSERT ON latest BEGIN SELECT raise(ABORT, 'no space'); END")
        with pytest.raises(Unavailable, match="not persisted: no space"):
            await store.txn([Put("/b", b"1")])
        other.execute("DROP TRIGGER refuse")
    assert [kv.key for kv in (await store.range("/")).kvs] == ["/a"]
    await store.txn([Put("/b", b"1", expected=0)])


async def test_each_implementation_opens_files_of_the_other(open_store, kind):
    other = {"process": "thread", "thread": "process"}[kind]
    store = await open_store(kind)
    await store.txn([Put("/a", b"1")])
    await store.close()
    store = await open_store(other)
    assert (store.revision, (await store.get("/a")).value) == (1, b"1")


def acknowledged_before_kill(path, kind):
    """Run a process that writes, and kill it; return the newest acknowledged revision of each key."""
    acknowledged = {}

    def note(line):
        key, revision = line.split()
        acknowledged[f"/{key}"] = int(revision)

    with subprocess.Popen([sys.executable, "-c", CHILD, path, kind], stdout=subprocess.PIPE, text=True) as process:
        for _ in range(200):
            note(process.stdout.readline())
        process.kill()
        for line in process.stdout:
            note(line)
    return acknowledged


async def test_killed_process_loses_no_acknowledged_write(open_store, path, kind):
    acknowledged = await asyncio.to_thread(acknowledged_before_kill, path, kind)
    store = await open_store(kind)
    by_key = {kv.key: kv.mod_revision for kv in (await store.range("/")).kvs}
    assert store.revision >= max(acknowledged.values())
    assert all(by_key[key] >= revision for key, revision in acknowledged.items())


async def test_health_check_names_a_failing_disk_and_recovers(open_store, path, kind):
    store = await open_store(kind)
    await store.check_writable()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TRIGGER refuse BEFORE INSERT ON latest BEGIN SELECT raise(ABORT, 'no space'); END")
        other.execute("CREATE TRIGGER fail BEFORE UPDATE ON session BEGIN SELECT raise(ABORT, 'no space'); END")
    with pytest.raises(Unavailable, match="no space"):
        await store.txn([Put("/a", b"1")])
    with pytest.raises(Unavailable, match="no space"):
        await store.check_writable()
    with closing(sqlite3.connect(path)) as other:
        other.execute("DROP TRIGGER refuse")
        other.execute("DROP TRIGGER fail")
    await store.check_writable()
    await store.txn([Put("/a", b"1")])


async def test_health_check_fails_while_the_disk_hangs(open_store, clock, path, kind):
    store = await open_store(kind)
    await store.txn([Put("/a", b"1")])
    with blocked(path):
        check = asyncio.ensure_future(store.check_writable())
        while not store._pipeline._in_flight:
            await asyncio.to_thread(int)
        await clock.advance(2.5)
        with pytest.raises(Unavailable, match="not durable within 2 s"):
            await check
    async with asyncio.timeout(HANG_SECONDS):
        await store._pipeline.settled()
    await store.check_writable()


async def test_writes_are_refused_while_the_disk_hangs(open_store, clock, path, kind):
    store = await open_store(kind)
    with blocked(path):
        write = asyncio.ensure_future(store.txn([Put("/a", b"1")]))
        while not store._pipeline._in_flight:
            await asyncio.to_thread(int)
        await clock.advance(2 * STALL_SECONDS)
        with pytest.raises(Unavailable, match="may happen later"):
            await write
        with pytest.raises(Unavailable, match="does not persist writes at the moment"):
            await store.txn([Put("/b", b"1")])
    async with asyncio.timeout(HANG_SECONDS):
        while store._pipeline.is_stalled:
            await asyncio.to_thread(int)
    assert (await store.get("/a")).value == b"1"
    await store.txn([Put("/b", b"1")])
