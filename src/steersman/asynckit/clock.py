"""Time as a parameter: every wait, deadline and timestamp goes through one ``Clock``.

The server runs on ``RealClock``; a test hands in a ``FakeClock`` and steps hours in milliseconds. This is the only
module that may read the machine's clock or sleep on the loop.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

#: Passes of the event loop that ``FakeClock.advance`` gives the woken code before time goes on: enough for a chain of
#: awaits of that length to come to rest. Work handed to threads is not waited for.
SETTLE_PASSES = 20


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Do not call any more. Idempotent, and harmless after the call."""


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC. May jump; for timestamps only."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back. For deadlines and durations."""

    async def sleep(self, seconds: float) -> None:
        """Wait; at least one pass of the loop even for zero or less."""

    def timer(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback`` on the running loop after ``seconds`` (soon, but never at once, for zero or less)."""


class RealClock:
    """The machine's clock and the running loop's timers."""

    # Functions of C as they are: every request asks for the time five times.
    now = staticmethod(partial(datetime.now, UTC))  # noqa: TID251 — this is the clock
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))  # noqa: TID251 — this is the clock

    def timer(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(max(0.0, seconds), callback)


class _FakeTimer:
    """A call in a ``FakeClock``'s queue; ordered by time, then by age."""

    __slots__ = ("_callback", "due", "serial")

    def __init__(self, due: float, serial: int, callback: Callable[[], None]) -> None:
        self.due = due
        self.serial = serial
        self._callback: Callable[[], None] | None = callback

    def __lt__(self, other: _FakeTimer) -> bool:
        return (self.due, self.serial) < (other.due, other.serial)

    @property
    def pending(self) -> bool:
        return self._callback is not None

    def cancel(self) -> None:
        self._callback = None

    def fire(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class FakeClock:
    """A clock that stands still until a test advances it.

    Sleepers and timers are woken one instant at a time, in order of their time and, within an instant, of their age;
    after each instant the woken code gets ``SETTLE_PASSES`` passes of the loop, so what it starts to wait for in turn is
    in the queue before time goes on.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._start = datetime(2026, 1, 1, tzinfo=UTC) if start is None else start
        self._elapsed = 0.0
        self._timers: list[_FakeTimer] = []
        self._serials = itertools.count()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await _one_pass()
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.timer(seconds, lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            timer.cancel()

    def timer(self, seconds: float, callback: Callable[[], None]) -> Timer:
        timer = _FakeTimer(self._elapsed + max(0.0, seconds), next(self._serials), callback)
        heapq.heappush(self._timers, timer)
        return timer

    @property
    def waiting(self) -> int:
        """Sleepers and timers that are due in the future."""
        return sum(timer.pending for timer in self._timers)

    async def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass. What falls due on the way is woken at its own time."""
        if seconds < 0:
            raise ValueError("time does not go back")
        end = self._elapsed + seconds
        await _settle()
        while (due := self._next_due()) is not None and due <= end:
            self._elapsed = max(self._elapsed, due)
            self._fire_due()
            await _settle()
        self._elapsed = end

    async def jump(self, seconds: float) -> None:
        """Be ``seconds`` later at once, as a machine that slept: what fell due meanwhile is woken late, all of it now."""
        if seconds < 0:
            raise ValueError("time does not go back")
        self._elapsed += seconds
        await self.advance(0)

    def _next_due(self) -> float | None:
        while self._timers and not self._timers[0].pending:
            heapq.heappop(self._timers)
        return self._timers[0].due if self._timers else None

    def _fire_due(self) -> None:
        """Fire everything due by now, but nothing that the fired calls add."""
        due = []
        while self._timers and self._timers[0].due <= self._elapsed:
            due.append(heapq.heappop(self._timers))
        for timer in due:
            timer.fire()


async def _one_pass() -> None:
    await asyncio.sleep(0)  # noqa: TID251 — this is the clock


async def _settle() -> None:
    for _ in range(SETTLE_PASSES):
        await _one_pass()
