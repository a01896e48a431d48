"""Work that a stop request cuts short."""

import asyncio

import pytest

from steersman.asynckit.clock import RealClock
from steersman.asynckit.stopping import run_unless_stopped


async def test_run_unless_stopped_completes_work_without_a_stop():
    done = []

    async def work():
        await RealClock().sleep(0)
        done.append(True)

    assert await run_unless_stopped(work(), asyncio.Event())
    assert done == [True]


async def test_run_unless_stopped_cancels_work_when_stopped():
    cancelled, stop = [], asyncio.Event()

    async def work():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    running = asyncio.ensure_future(run_unless_stopped(work(), stop))
    await RealClock().sleep(0)
    await RealClock().sleep(0)
    stop.set()
    assert not await running
    assert cancelled == [True]


async def test_run_unless_stopped_does_not_begin_when_stopped_before():
    stop = asyncio.Event()
    stop.set()
    assert not await run_unless_stopped(asyncio.Event().wait(), stop)


async def test_run_unless_stopped_raises_the_error_of_work():
    async def work():
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await run_unless_stopped(work(), asyncio.Event())


async def test_run_unless_stopped_ends_work_before_its_own_cancellation():
    ended = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    running = asyncio.ensure_future(run_unless_stopped(work(), asyncio.Event()))
    await RealClock().sleep(0)
    await RealClock().sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended == [True]
