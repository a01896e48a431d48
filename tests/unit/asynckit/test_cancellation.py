import asyncio

from steersman.asynckit.cancellation import cancel_and_wait, is_ending, wait_through
from steersman.asynckit.clock import FakeClock


async def test_cancel_and_wait_waits_for_the_end():
    clock, ended = FakeClock(), []

    async def slow_to_end():
        try:
            await clock.sleep(1000)
        finally:
            await clock.sleep(5)
            ended.append(clock.monotonic())

    task = asyncio.create_task(slow_to_end())
    await clock.advance(1)
    waiter = asyncio.create_task(cancel_and_wait(task))
    await clock.advance(10)
    assert await waiter is False
    assert ended == [6]


async def test_cancel_and_wait_cancels_again_with_each_cancellation_of_the_caller():
    clock, received = FakeClock(), []

    async def stubborn():
        while len(received) < 3:
            try:
                await clock.sleep(1000)
            except asyncio.CancelledError:
                received.append(clock.monotonic())

    task = asyncio.create_task(stubborn())
    await clock.advance(1)
    waiter = asyncio.create_task(cancel_and_wait(task))
    for _ in range(2):
        await clock.advance(1)
        waiter.cancel()
    await clock.advance(0)
    assert await waiter is True
    assert received == [1, 2, 3]


async def test_wait_through_outlasts_cancellation_of_the_caller():
    clock = FakeClock()
    task = asyncio.create_task(clock.sleep(5))
    waiter = asyncio.create_task(wait_through(task))
    await clock.advance(1)
    waiter.cancel()
    await clock.advance(1)
    assert not waiter.done()
    await clock.advance(3)
    assert await waiter is True
    assert not task.cancelled()


async def test_is_ending_distinguishes_own_cancellation():
    seen = []

    async def waiting(awaitable):
        try:
            await awaitable
        except asyncio.CancelledError:
            seen.append(is_ending())

    clock = FakeClock()
    never = asyncio.get_running_loop().create_future()
    tasks = [asyncio.create_task(waiting(never)), asyncio.create_task(waiting(clock.sleep(100)))]
    await clock.advance(1)
    never.cancel()
    tasks[1].cancel()
    await asyncio.wait(tasks)
    assert seen == [False, True]
