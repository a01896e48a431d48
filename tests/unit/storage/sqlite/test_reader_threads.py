from __future__ import annotations

import asyncio
import sys
import threading

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import RealClock
from steersman.storage.sqlite.gil_release import GILRelease
from steersman.storage.sqlite.reader_threads import ReaderThreads
from steersman.storage.store import Put

#: The compiled threads accept no other reader.
pytestmark = pytest.mark.interpreted

CLOCK = RealClock()


class Reader:
    def __init__(self):
        self.pages_read = 0
        self.is_closed = False

    def close(self):
        self.is_closed = True


@pytest.fixture
def readers():
    return [Reader(), Reader()]


@pytest.fixture
def threads(readers):
    threads = ReaderThreads()
    for reader in readers:
        threads.add(reader)
    yield threads
    threads.close()


async def test_run_returns_and_raises(threads, readers):
    assert await threads.run(readers.index) in (0, 1)

    def fail(_reader):
        raise ValueError("wrong")

    for _ in range(5):
        with pytest.raises(ValueError, match="wrong"):
            await threads.run(fail)
    assert await threads.run(readers.index) in (0, 1)


async def test_loop_keeps_turning_while_a_read_is_under_way(threads):
    go_on = threading.Event()
    read = asyncio.ensure_future(threads.run(lambda _reader: go_on.wait(HANG_SECONDS)))
    for _ in range(20):
        await CLOCK.sleep(0)
    assert not read.done()
    go_on.set()
    assert await read


async def test_concurrent_reads_share_one_wait_of_each_turn(threads, monkeypatch):
    waits = []
    wait = GILRelease.wait

    def count(self):
        waits.append(1)
        return wait(self)

    monkeypatch.setattr(GILRelease, "wait", count)
    go_on = threading.Event()
    reads = [asyncio.ensure_future(threads.run(lambda _reader: go_on.wait(HANG_SECONDS))) for _ in range(10)]
    for _ in range(10):
        await CLOCK.sleep(0)
    assert len(waits) <= 10
    go_on.set()
    assert all(await asyncio.gather(*reads))


async def test_loop_stops_waiting_when_no_read_is_left(threads):
    await threads.run(lambda _reader: None)
    for _ in range(3):
        await CLOCK.sleep(0)
    assert not threads._is_releasing_gil
    await threads.run(lambda _reader: None)


async def test_pages_of_a_read_are_progress(threads, readers):
    gil_release = threads._gil_release
    go_on = threading.Event()
    reading = asyncio.ensure_future(threads.run(lambda _reader: go_on.wait(HANG_SECONDS)))
    while not gil_release.idle_waits:
        await CLOCK.sleep(0)
    readers[0].pages_read += 1
    gil_release.wait()
    assert gil_release.idle_waits == 0
    go_on.set()
    await reading


def test_close_closes_the_connections(readers):
    threads = ReaderThreads()
    for reader in readers:
        threads.add(reader)
    threads.close()
    assert all(reader.is_closed for reader in readers)


async def test_reads_finish_beside_a_busy_loop_and_leave_the_switch_interval(open_store):
    store = await open_store()
    for first in range(0, 1000, 250):
        await store.txn([Put(f"/a/{n}", b"x" * 500) for n in range(first, first + 250)])
    interval = sys.getswitchinterval()
    is_done = False

    async def compute():
        while not is_done:
            sum(range(10_000))
            await CLOCK.sleep(0)

    busy = asyncio.ensure_future(compute())
    async with asyncio.timeout(HANG_SECONDS):
        for _ in range(5):
            assert len((await store.range("/a/")).kvs) == 1000
            assert sys.getswitchinterval() == interval
    is_done = True
    await busy
