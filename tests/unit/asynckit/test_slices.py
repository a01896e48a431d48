"""The work between two awaits."""

import asyncio

import pytest

from steersman.asynckit.slices import measured, next_turn


class Work:
    """A clock that only the coroutine under test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.reported: list[float] = []

    def measured(self, work):
        return measured(work, lambda: self.now, 1.0, self._report, "subject")

    def _report(self, subject, seconds) -> None:
        assert subject == "subject"
        self.reported.append(seconds)


async def _one_pass() -> None:
    await asyncio.sleep(0)  # noqa: TID251


async def test_measured_reports_each_slice_beyond_the_limit():
    work = Work()

    async def steps() -> str:
        work.now += 2
        await _one_pass()
        work.now += 1
        await _one_pass()
        work.now += 3
        return "done"

    assert await work.measured(steps()) == "done"
    assert work.reported == [2, 3]


async def test_measured_leaves_out_the_time_of_waiting():
    work = Work()
    event = asyncio.Event()

    async def wait() -> None:
        await event.wait()

    async def wake() -> None:
        work.now += 100
        event.set()

    await asyncio.gather(work.measured(wait()), wake())
    assert work.reported == []


async def test_measured_reports_the_slice_that_raises():
    work = Work()

    async def fail() -> None:
        await _one_pass()
        work.now += 2
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await work.measured(fail())
    assert work.reported == [2]


async def test_measured_passes_cancellation_on():
    work = Work()
    seen = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            work.now += 2
            seen.append("cancelled")
            raise

    async def run() -> None:
        await work.measured(wait())

    task = asyncio.create_task(run())
    await _one_pass()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (seen, work.reported) == (["cancelled"], [2])


async def test_measured_lets_the_coroutine_swallow_an_exception():
    async def wait() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "ended"
        return ""

    async def run() -> str:
        return await Work().measured(wait())

    task = asyncio.create_task(run())
    await _one_pass()
    task.cancel()
    assert await task == "ended"


async def test_next_turn_lets_the_loop_run_once():
    turns = []
    asyncio.get_running_loop().call_soon(turns.append, 1)
    await next_turn()
    assert turns == [1]
