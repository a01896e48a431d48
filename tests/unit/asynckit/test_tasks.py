from __future__ import annotations

import asyncio

import pytest

from steersman.asynckit.tasks import Supervisor


async def fail():
    raise RuntimeError("broken")


async def forever(ended=None):
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        if ended is not None:
            ended.append(asyncio.current_task().get_name())


async def test_task_name_contains_the_owner():
    supervisor = Supervisor("store")
    task = supervisor.start("upkeep", forever())
    assert task.get_name() == "store: upkeep"
    assert supervisor.names == ["store: upkeep"]
    await supervisor.close()


async def test_start_returns_the_task_with_its_result():
    async def answer():
        return 42

    assert await Supervisor("store").start("answer", answer()) == 42


async def test_failure_is_logged_and_reported(caplog):
    failures = []
    supervisor = Supervisor("store", on_failure=lambda name, error: failures.append((name, str(error))))
    task = supervisor.start("upkeep", fail())
    await asyncio.wait([task])
    assert failures == [("store: upkeep", "broken")]
    assert "task store: upkeep failed" in caplog.text
    assert "RuntimeError: broken" in caplog.text


async def test_failure_does_not_affect_other_tasks():
    supervisor = Supervisor("store")
    other = supervisor.start("other", forever())
    await asyncio.wait([supervisor.start("upkeep", fail())])
    assert not other.done()
    assert supervisor.names == ["store: other"]
    await supervisor.close()


async def test_close_cancels_the_youngest_first_and_waits():
    supervisor, ended = Supervisor("store"), []
    for name in ("first", "second"):
        supervisor.start(name, forever(ended))
    await asyncio.wait(list(supervisor._tasks), timeout=0)
    await supervisor.close()
    await supervisor.close()
    assert ended == ["store: second", "store: first"]
    assert supervisor.names == []


async def test_cancelled_task_is_not_a_failure(caplog):
    supervisor = Supervisor("store")
    supervisor.start("upkeep", forever())
    await supervisor.close()
    assert caplog.text == ""


async def test_start_raises_after_close():
    supervisor = Supervisor("store")
    await supervisor.close()
    with pytest.raises(RuntimeError, match="store is closed, cannot start upkeep"):
        supervisor.start("upkeep", forever())


async def test_close_may_be_called_by_a_supervised_task():
    supervisor = Supervisor("store")
    await supervisor.start("end", supervisor.close())
    assert supervisor.names == []


async def test_close_after_cancel_does_not_interrupt_the_end_of_a_task():
    may_end, ended = asyncio.Event(), []

    async def work():
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await may_end.wait()
            ended.append("work")

    supervisor = Supervisor("store")
    task = supervisor.start("work", work())
    await asyncio.wait([task], timeout=0)
    supervisor.cancel()
    closing = asyncio.create_task(supervisor.close())
    await asyncio.wait([closing], timeout=0)
    may_end.set()
    await closing
    assert ended == ["work"]
