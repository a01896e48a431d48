import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.runtime.slowstart import slow_start_batch


class Work:
    """Notes which calls run together; some fail."""

    def __init__(self, failing=()):
        self.failing = set(failing)
        self.batches = []
        self._running = None

    async def __call__(self, number):
        if self._running is None:
            self._running = []
            self.batches.append(self._running)
        self._running.append(number)
        for _ in range(3):
            await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=0)
        self._running = None
        if number in self.failing:
            raise RuntimeError(f"no room for {number}")


@pytest.fixture(autouse=True)
async def _no_leftovers():
    yield
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


async def test_batches_double():
    work = Work()
    assert await slow_start_batch(10, work) == (10, (), 0)
    assert [len(batch) for batch in work.batches] == [1, 2, 4, 3]
    assert [number for batch in work.batches for number in batch] == list(range(10))


async def test_slow_start_stops_after_a_failed_batch():
    work = Work(failing=[1])
    successes, errors, skipped = await slow_start_batch(10, work)
    assert (successes, [str(error) for error in errors], skipped) == (2, ["no room for 1"], 7)
    assert [len(batch) for batch in work.batches] == [1, 2]


async def test_slow_start_of_nothing_returns_at_once():
    assert await slow_start_batch(0, Work()) == (0, (), 0)


@pytest.mark.parametrize(("initial", "sizes"), [(4, [4, 6]), (100, [10])])
async def test_slow_start_accepts_a_larger_first_batch(initial, sizes):
    work = Work()
    await slow_start_batch(10, work, initial_batch_size=initial)
    assert [len(batch) for batch in work.batches] == sizes


async def test_slow_start_cancellation_ends_the_batch():
    async def forever(number):
        await asyncio.get_running_loop().create_future()

    task = asyncio.create_task(slow_start_batch(3, forever))
    await asyncio.wait([task], timeout=0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_slow_start_propagates_a_cancelled_call():
    async def cancelled(number):
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await slow_start_batch(1, cancelled)


@given(st.integers(0, 40), st.sets(st.integers(0, 40)))
def test_slow_start_counts_every_call(count, failing):
    async def work(number):
        if number in failing:
            raise RuntimeError

    successes, errors, skipped = asyncio.run(slow_start_batch(count, work))
    assert successes + len(errors) + skipped == count
    assert bool(errors) == bool(failing & set(range(count)))
