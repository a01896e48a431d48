from __future__ import annotations

import asyncio
import os
import signal

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import FakeClock
from steersman.storage.sqlite.stalls import STALL_SECONDS, StallDetector
from steersman.storage.store import Conflict, Put, Unavailable


class Work:
    def __init__(self):
        self.clock = FakeClock()
        self.is_under_way = True
        self.stalls = 0
        self.detector = StallDetector(self.clock, has_work=lambda: self.is_under_way, on_stall=self.stall)

    def stall(self):
        self.stalls += 1


async def test_detector_reports_a_stall_without_progress():
    work = Work()
    work.detector.started()
    await work.clock.advance(STALL_SECONDS)
    assert (work.stalls, work.detector.is_stalled) == (1, True)
    await work.clock.advance(STALL_SECONDS * 3)
    assert work.stalls == 1
    work.detector.progressed()
    assert not work.detector.is_stalled


async def test_detector_reports_no_stall_with_progress():
    work = Work()
    work.detector.started()
    for _ in range(5):
        work.detector.progressed()
        await work.clock.advance(STALL_SECONDS)
    work.is_under_way = False
    await work.clock.advance(STALL_SECONDS * 3)
    assert (work.stalls, work.clock.waiting) == (0, 0)


@pytest.fixture
def writer():
    """Return the body whose process the tests stop."""
    return "process"


@pytest.fixture
def stop_writer():
    """Stops the writer process of a store; continues it after the test."""
    stopped = []

    def stop(store):
        pid = store._pipeline.writer._child.process.pid
        os.kill(pid, signal.SIGSTOP)
        stopped.append(pid)
        return lambda: os.kill(pid, signal.SIGCONT)

    yield stop
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)


async def test_writes_are_refused_while_the_writer_process_is_stopped(open_store, clock, stop_writer):
    store = await open_store(disk_clock=clock)
    await store.txn([Put("/a", b"1")])
    go_on = stop_writer(store)
    waiting = asyncio.ensure_future(store.txn([Put("/b", b"1", expected=0)]))
    conflicting = asyncio.ensure_future(store.txn([Put("/b", b"2", expected=0)]))
    while clock.waiting < 2 or not store._pipeline._in_flight:  # the upkeep, and the stall detector
        await asyncio.to_thread(int)
    await clock.advance(2 * STALL_SECONDS)
    with pytest.raises(Unavailable, match="not durable within 5 s, and may happen later"):
        await waiting
    with pytest.raises(Unavailable, match="may happen later"):
        await conflicting
    with pytest.raises(Unavailable, match="does not persist writes at the moment"):
        await store.txn([Put("/c", b"1")])
    assert (await store.get("/a")).value == b"1"
    go_on()
    async with asyncio.timeout(HANG_SECONDS):
        while store._pipeline.is_stalled:
            await asyncio.to_thread(int)
    with pytest.raises(Conflict):
        await store.txn([Put("/b", b"2", expected=0)])
    assert (await store.get("/b")).value == b"1"
    await store.txn([Put("/c", b"1")])


async def test_health_fails_while_the_writer_process_is_stopped(open_store, clock, stop_writer):
    store = await open_store(disk_clock=clock)
    await store.check_writable()
    go_on = stop_writer(store)
    await store.check_writable()  # what was found a moment ago counts
    await clock.advance(1.5)
    checks = [asyncio.ensure_future(store.check_writable()) for _ in range(3)]
    while clock.waiting < 5:
        await asyncio.to_thread(int)
    await clock.advance(2.5)
    for check in checks:
        with pytest.raises(Unavailable, match="not durable within 2 s"):
            await check
    go_on()
    async with asyncio.timeout(HANG_SECONDS):
        while store._pipeline._in_flight:
            await asyncio.to_thread(int)
    await store.check_writable()
