"""Completion and cancellation of tasks of an embedded cluster."""

import asyncio

import pytest

from steersman.testing.clock import VirtualClock
from steersman.testing.errors import ClusterError
from steersman.testing.idle import IdleDetector
from steersman.testing.task_driver import START_SECONDS, TaskDriver


@pytest.fixture
async def clock():
    idle = IdleDetector()
    clock = VirtualClock()
    clock.use(idle.wait)
    return clock


@pytest.fixture
async def driver(clock):
    return TaskDriver(clock, IdleDetector())


async def test_run_advances_virtual_time_until_the_result(clock, driver):
    async def work():
        await clock.sleep(START_SECONDS / 2)
        return "done"

    assert await driver.run(work(), "the work") == "done"
    assert clock.monotonic() == START_SECONDS / 2


async def test_run_raises_for_work_that_takes_too_long(clock, driver):
    with pytest.raises(ClusterError, match="the work did not end within 60 seconds"):
        await driver.run(clock.sleep(START_SECONDS + 1), "the work")


async def test_wait_stopped_gives_up_without_an_error(clock, driver):
    task = asyncio.create_task(clock.sleep(3600))
    await driver.wait_stopped(task)
    assert not task.done()
    await driver.cancel(task)


async def test_cancel_repeats_until_the_task_ends(clock, driver):
    async def stubborn():
        for _ in range(2):
            try:
                await clock.sleep(1)
            except asyncio.CancelledError:
                continue
        await clock.sleep(1)

    task = asyncio.create_task(stubborn())
    await driver.cancel(task)
    assert task.cancelled()
    assert clock.monotonic() == 0
