"""Timeouts measured by a ``Clock``; ``asyncio.timeout`` supports only the event loop's time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import TracebackType
    from typing import TypeVar

    from steersman.asynckit.clock import Clock, Timer

    T = TypeVar("T")


class Timeout:
    """``async with Timeout(seconds, clock=clock):`` raises ``TimeoutError`` when the block takes longer.

    The block is cancelled at its next await; an outside cancellation is propagated. None: no bound.
    """

    def __init__(self, seconds: float | None, *, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._timer: Timer | None = None
        self._task: asyncio.Task[object] | None = None
        self._expired = False
        self._cancelling = 0

    @property
    def expired(self) -> bool:
        """True if the time expired within the block."""
        return self._expired

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a timeout needs a task")
        self._task, self._cancelling = task, task.cancelling()
        if self._seconds is not None:
            self._timer = self._clock.timer(self._seconds, self._expire)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        task, self._task = self._task, None
        if not self._expired or task is None:
            return
        if task.uncancel() <= self._cancelling and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise TimeoutError(f"not done within {self._seconds} seconds") from error

    def _expire(self) -> None:
        if self._task is not None:
            self._expired = True
            self._task.cancel()


async def wait_for(work: Awaitable[T], seconds: float | None, *, clock: Clock) -> T:
    """Return the result of ``work``. Raises ``TimeoutError`` after ``seconds``."""
    async with Timeout(seconds, clock=clock):
        return await work


async def woken(event: asyncio.Event, seconds: float | None, *, clock: Clock) -> bool:
    """Wait until ``event`` is set, at most ``seconds``; return whether it is set."""
    try:
        await wait_for(event.wait(), seconds, clock=clock)
    except TimeoutError:
        return event.is_set()
    return True
