"""Detection of an idle event loop."""

import asyncio
import threading

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.apiserver.workers import in_worker
from steersman.asynckit.clock import RealClock
from steersman.testing.idle import IdleDetector, InlineExecutor, LoopError


async def chain(length):
    for _ in range(length):
        await RealClock().sleep(0)


async def test_wait_returns_when_no_callback_is_ready():
    idle, task = IdleDetector(), asyncio.ensure_future(chain(500))
    await idle.wait()
    assert task.done()


async def test_wait_does_not_wait_for_blocked_tasks():
    idle, task = IdleDetector(), asyncio.ensure_future(asyncio.Event().wait())
    await idle.wait()
    assert not task.done()
    task.cancel()


async def test_several_waiters_do_not_wait_for_each_other():
    idle = IdleDetector()
    await asyncio.gather(*(idle.wait(HANG_SECONDS) for _ in range(3)))


async def test_wait_waits_for_threads_of_the_default_executor():
    idle = IdleDetector()
    idle.use_executor()
    task = asyncio.ensure_future(asyncio.to_thread(sum, range(100_000)))
    await idle.wait()
    assert task.done()


async def test_wait_fails_when_the_loop_is_never_idle():
    idle, task = IdleDetector(), asyncio.ensure_future(chain(10**9))
    with pytest.raises(TimeoutError, match="not idle after"):
        await idle.wait(0.01)
    task.cancel()


async def test_inline_executor_runs_calls_in_the_thread_of_the_loop():
    idle = IdleDetector()
    idle.use_executor(inline=True)
    order = []
    task = asyncio.ensure_future(asyncio.to_thread(order.append, 1))
    await idle.wait()
    assert (order, task.done()) == ([1], True)
    assert await in_worker(threading.get_ident) == threading.get_ident()


def test_inline_executor_raises_what_the_call_raises():
    with pytest.raises(ZeroDivisionError):
        InlineExecutor(1).submit(lambda: 1 / 0).result()


async def test_other_event_loops_are_rejected(monkeypatch):
    monkeypatch.setattr(asyncio, "get_running_loop", object)
    with pytest.raises(LoopError, match="needs an event loop of asyncio itself"):
        IdleDetector()
