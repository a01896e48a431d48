import asyncio

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.timeouts import Timeout, wait_for, woken


async def forever():
    await asyncio.get_running_loop().create_future()


async def test_timeout_does_not_affect_a_block_in_time():
    clock = FakeClock()
    async with Timeout(1, clock=clock) as timeout:
        await clock.sleep(0)
    assert not timeout.expired
    assert clock.waiting == 0


async def test_timeout_raises_when_the_block_takes_longer():
    clock = FakeClock()
    task = asyncio.create_task(wait_for(forever(), 5, clock=clock))
    await clock.advance(4.9)
    assert not task.done()
    await clock.advance(0.1)
    with pytest.raises(TimeoutError, match="not done within 5 seconds"):
        await task


async def test_timeout_of_none_has_no_bound():
    clock = FakeClock()
    task = asyncio.create_task(wait_for(forever(), None, clock=clock))
    await clock.advance(10_000)
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])


async def test_timeout_propagates_outside_cancellation():
    clock = FakeClock()
    task = asyncio.create_task(wait_for(forever(), 5, clock=clock))
    await clock.advance(1)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert clock.waiting == 0


async def test_outside_cancellation_takes_precedence_over_the_timeout():
    clock = FakeClock()

    async def stubborn():
        async with Timeout(1, clock=clock):
            try:
                await forever()
            except asyncio.CancelledError:
                task.cancel()
                raise

    task = asyncio.create_task(stubborn())
    await clock.advance(2)
    assert task.cancelled()


async def test_inner_timeout_does_not_expire_the_outer():
    clock, seen = FakeClock(), []

    async def nested():
        async with Timeout(10, clock=clock):
            try:
                await wait_for(forever(), 1, clock=clock)
            except TimeoutError:
                seen.append(clock.monotonic())

    task = asyncio.create_task(nested())
    await clock.advance(2)
    await task
    assert seen == [1]


async def test_woken_returns_after_the_event_or_the_timeout():
    clock, event = FakeClock(), asyncio.Event()
    waits = [asyncio.create_task(woken(event, seconds, clock=clock)) for seconds in (1, 3, None)]
    await clock.advance(2)
    event.set()
    assert [await wait for wait in waits] == [False, True, True]
