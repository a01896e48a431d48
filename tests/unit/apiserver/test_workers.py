"""CPU-bound steps: on the loop with an allowance, in a worker without one, interrupted with their requests."""

import asyncio
import gc
import sys
import threading
import weakref
from contextlib import suppress

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.apimachinery.workmeter import InterruptedWorkError, spend
from steersman.apiserver import workers
from steersman.apiserver.workers import (
    LARGE_BYTES,
    LARGE_SLOW_BYTES,
    LOOP_ALLOWANCE,
    THREADS,
    TURN_UNITS,
    YIELD_UNITS,
    are_workers_busy,
    in_worker,
    is_large,
    on_loop,
    with_allowance,
    work_on_loop,
)


async def _until(event: threading.Event) -> None:
    await asyncio.to_thread(event.wait)


async def test_in_worker_returns_the_result_of_another_thread():
    assert await in_worker(lambda a, *, b: (a, b), 1, b=2) == (1, 2)
    assert await in_worker(threading.get_ident) != threading.get_ident()


async def test_in_worker_stays_on_a_loop_that_works_itself():
    work_on_loop(asyncio.get_running_loop())
    assert await in_worker(threading.get_ident) == threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await in_worker(lambda: 1 / 0)
    assert not are_workers_busy()


async def test_in_worker_raises_what_the_step_raises():
    def fail():
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await in_worker(fail)
    assert await in_worker(int, "7") == 7


async def test_are_workers_busy_while_a_step_runs():
    started, release = threading.Event(), threading.Event()
    assert not are_workers_busy()

    def step():
        started.set()
        release.wait()

    task = asyncio.create_task(in_worker(step))
    await _until(started)
    assert are_workers_busy()
    release.set()
    await task
    assert not are_workers_busy()


async def test_step_pauses_at_intervals(monkeypatch):
    pauses = []
    monkeypatch.setattr(workers.time, "sleep", pauses.append)

    def step():
        spend(YIELD_UNITS - 1)
        assert pauses == []
        spend(1)
        spend(YIELD_UNITS - 1)
        assert len(pauses) == 1

    await in_worker(step)


async def test_step_waits_for_callbacks_of_the_loop_after_work_that_is_charged_at_once():
    """A callback, and one that it schedules in turn, run before the step goes on."""
    loop = asyncio.get_running_loop()
    turns = []

    def step():
        loop.call_soon_threadsafe(lambda: loop.call_soon(turns.append, "second turn"))
        spend(TURN_UNITS)
        return list(turns)

    assert await in_worker(step) == ["second turn"]


async def test_workers_leave_the_switch_interval_of_the_process():
    interval = sys.getswitchinterval()
    assert await in_worker(sys.getswitchinterval) == interval


async def test_with_allowance_stays_on_the_loop_for_small_work():
    def step():
        spend(LOOP_ALLOWANCE)
        return threading.get_ident()

    assert await with_allowance(step) == threading.get_ident()


async def test_with_allowance_starts_again_in_a_worker_beyond_the_allowance():
    starts = []

    def step(value):
        starts.append(threading.get_ident())
        for _ in range(10):
            spend(LOOP_ALLOWANCE)
        return value

    assert await with_allowance(step, "done") == "done"
    assert starts[0] == threading.get_ident() != starts[1]
    assert len(starts) == 2


async def test_with_allowance_removes_its_meter():
    await with_allowance(spend, LOOP_ALLOWANCE)
    spend(10 * LOOP_ALLOWANCE)


async def test_loop_runs_while_a_step_computes():
    released = threading.Event()

    def step():
        released.wait()
        return "done"

    task = asyncio.create_task(in_worker(step))
    for _ in range(100):
        await asyncio.sleep(0)  # noqa: TID251
    assert not task.done()
    released.set()
    assert await task == "done"


async def test_cancellation_interrupts_the_step():
    started, ended = threading.Event(), threading.Event()

    def step():
        started.set()
        try:
            while True:
                spend(1)
        except InterruptedWorkError:
            ended.set()
            raise

    task = asyncio.create_task(in_worker(step))
    await _until(started)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _until(ended)


async def test_cancellation_takes_a_step_out_of_the_queue():
    release, ran = threading.Event(), []
    busy = [asyncio.create_task(in_worker(release.wait)) for _ in range(THREADS)]
    waiting = asyncio.create_task(in_worker(ran.append, 1))
    await asyncio.sleep(0)  # noqa: TID251
    waiting.cancel()
    await asyncio.wait([waiting])
    release.set()
    await asyncio.gather(*busy)
    # every thread has taken another step since, so the cancelled one is behind them
    await asyncio.gather(*(in_worker(int) for _ in range(THREADS)))
    assert ran == []


async def test_on_loop_calls_on_the_thread_of_the_loop():
    def step():
        return threading.get_ident(), on_loop(threading.get_ident)

    worker, loop = await in_worker(step)
    assert (worker != loop, loop) == (True, threading.get_ident())


async def test_on_loop_calls_directly_outside_of_workers():
    assert on_loop(threading.get_ident) == threading.get_ident()


async def test_on_loop_raises_what_the_call_raises():
    def fail():
        raise TimeoutError("of the call")

    with pytest.raises(TimeoutError, match="of the call"):
        await in_worker(on_loop, fail)


@pytest.mark.parametrize(
    ("size", "is_slow", "expected"),
    [
        (LARGE_BYTES, False, False),
        (LARGE_BYTES + 1, False, True),
        (LARGE_SLOW_BYTES, True, False),
        (LARGE_SLOW_BYTES + 1, True, True),
    ],
)
def test_is_large_depends_on_the_format(size, is_slow, expected):
    assert is_large(size, is_slow=is_slow) is expected


async def test_stop_workers_ends_the_threads_and_the_next_step_starts_others():
    before = threading.active_count()
    await in_worker(int, "7")
    assert threading.active_count() >= before
    workers.stop_workers()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("worker-")]
    assert await in_worker(int, "7") == 7


class Tree:
    """Object of a request."""


def fail(_tree):
    raise ValueError


@pytest.mark.parametrize("step", [str, fail])
async def test_step_frees_its_objects_without_a_garbage_collection(step):
    gc.collect()
    gc.disable()
    try:
        tree = Tree()
        freed = threading.Event()
        weakref.finalize(tree, freed.set)
        with suppress(ValueError):
            await in_worker(step, tree)
        del tree
        assert await asyncio.to_thread(freed.wait, HANG_SECONDS)
    finally:
        gc.enable()
