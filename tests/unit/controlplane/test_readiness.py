"""Reports of the components process to its parent."""

from __future__ import annotations

import asyncio
import os
import socket

from steersman.controlplane.readiness import ReadinessReporter


async def test_readiness_reporter_is_ready_after_its_last_step() -> None:
    ours, theirs = socket.socketpair()
    events = [asyncio.Event(), asyncio.Event()]

    async def node() -> str:
        await events[1].wait()
        return "node-0"

    with ours, theirs:
        loop = asyncio.get_running_loop()
        ours.setblocking(False)
        steps = [("the scheduler", _waits(events[0])), ("a node", node)]
        reporter = ReadinessReporter(theirs.fileno(), steps)
        running = asyncio.ensure_future(reporter.run())
        assert (await loop.sock_recv(ours, 4096)).decode() == "waiting the scheduler\n"
        events[0].set()
        assert (await loop.sock_recv(ours, 4096)).decode() == "waiting a node\n"
        events[1].set()
        assert (await loop.sock_recv(ours, 4096)).decode() == "ready node-0\n"
        assert not running.done()
        reporter.stop()
        await running


def _waits(event: asyncio.Event):
    async def wait() -> None:
        await event.wait()

    return wait


async def test_readiness_reporter_stops_while_it_waits() -> None:
    reader, writer = os.pipe()
    reporter = ReadinessReporter(writer, [("the moon", _waits(asyncio.Event()))])
    running = asyncio.ensure_future(reporter.run())
    assert await asyncio.to_thread(os.read, reader, 100) == b"waiting the moon\n"
    reporter.stop()
    await running
    os.close(writer)
    assert os.read(reader, 100) == b""
    os.close(reader)


async def test_readiness_reporter_survives_the_end_of_its_parent() -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        reporter = ReadinessReporter(theirs.fileno(), [])
        running = asyncio.ensure_future(reporter.run())
        reporter.stop()
        await running


async def test_readiness_reporter_calls_after_once_ready() -> None:
    calls: list[bytes] = []
    called = asyncio.Event()
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()

    def after() -> None:
        calls.append(ours.recv(100))
        loop.call_soon_threadsafe(called.set)

    with ours, theirs:
        reporter = ReadinessReporter(theirs.fileno(), [], after=after)
        running = asyncio.ensure_future(reporter.run())
        await called.wait()
        reporter.stop()
        await running
    assert calls == [b"ready \n"]
