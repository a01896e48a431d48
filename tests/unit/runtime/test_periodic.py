import asyncio
import itertools
import logging
import random

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.runtime.periodic import run_every

LOG = logging.getLogger("test")


async def times(seconds, *, work_seconds=0.0, failing=False, dice=None, **options):
    """Return the start times of the work within 100 seconds."""
    clock, at = FakeClock(), []

    async def work():
        at.append(clock.monotonic())
        await clock.sleep(work_seconds)
        if failing:
            raise RuntimeError("broken")

    task = asyncio.create_task(run_every(seconds, work, clock=clock, dice=dice or random.Random(1), log=LOG, **options))
    await clock.advance(100)
    task.cancel()
    await asyncio.wait([task])
    return at


async def test_run_every_waits_from_the_end_of_the_work():
    assert await times(30, work_seconds=10) == [0, 40, 80]


async def test_run_every_without_sliding_waits_from_the_start_of_the_work():
    assert await times(30, work_seconds=10, sliding=False) == [0, 30, 60, 90]
    assert await times(30, work_seconds=45, sliding=False) == [0, 45, 90]


async def test_jitter_lengthens_each_wait_by_up_to_its_fraction():
    at = await times(30, jitter=0.5)
    waits = [b - a for a, b in itertools.pairwise(at)]
    assert [30 <= wait <= 45 for wait in waits] == [True] * len(waits)
    assert len(set(waits)) == len(waits)


async def test_run_every_logs_a_failure_and_continues(caplog):
    assert len(await times(30, failing=True)) == 4
    assert "work failed, it will be called again" in caplog.text


@pytest.mark.parametrize("jitter", [0.0, 0.04])
async def test_run_every_starts_at_once(jitter):
    assert (await times(1000, jitter=jitter)) == [0]
