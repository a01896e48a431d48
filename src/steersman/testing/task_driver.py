"""Completion and cancellation of an embedded cluster's tasks, on a virtual or a real clock."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar

from steersman.testing.clock import VirtualClock
from steersman.testing.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from steersman.testing.clock import SteadyClock
    from steersman.testing.idle import IdleDetector

T = TypeVar("T")

#: Timeout of a start, in the time of the cluster's clock.
START_SECONDS: Final = 60.0
#: Timeout of an orderly stop, in the time of the cluster's clock.
_STOP_SECONDS: Final = 5.0
#: Number of cancellations after which a task is given up.
_CANCELLATIONS_MAX: Final = 50


class TaskDriver:
    """Waits for tasks of a cluster; a virtual clock advances meanwhile."""

    def __init__(self, clock: VirtualClock | SteadyClock, idle: IdleDetector) -> None:
        self._clock = clock
        self._idle = idle

    async def run(self, work: Coroutine[Any, Any, T], name: str) -> T:
        """Return the result of ``work``. Raises ``ClusterError`` if it takes too long."""
        task = asyncio.get_running_loop().create_task(work, name=f"embedded cluster: {name}")
        try:
            await self._wait(task, START_SECONDS)
            if task.done():
                return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        raise ClusterError(f"{name} did not end within {START_SECONDS:g} seconds")

    async def wait_stopped(self, task: asyncio.Task[None]) -> None:
        """Wait for a task that was asked to stop, for a limited time."""
        await self._wait(task, _STOP_SECONDS)

    async def cancel(self, task: asyncio.Task[None]) -> None:
        """Cancel a task, repeatedly if it goes on, without the passage of time."""
        for _ in range(_CANCELLATIONS_MAX):
            if task.done():
                break
            task.cancel()
            await self._idle.wait()

    async def _wait(self, task: asyncio.Task[Any], limit_seconds: float) -> None:
        clock = self._clock
        if not isinstance(clock, VirtualClock):
            await asyncio.wait([task], timeout=limit_seconds)
            return
        deadline = clock.monotonic() + limit_seconds
        await self._idle.wait()
        while not task.done() and await clock.advance_to_next_timer(within_seconds=deadline - clock.monotonic()):
            pass
