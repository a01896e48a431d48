"""Clock abstraction: every wait, deadline and timestamp uses a ``Clock``.

The server runs on ``RealClock``; tests pass a ``FakeClock`` and advance it. No other module may read the system's clock
or sleep on the event loop. Upstream: ``k8s.io/utils/clock``.
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
    from collections.abc import Awaitable, Callable

#: Passes of the event loop that ``FakeClock.advance`` runs after each instant: enough for chains of this many awaits.
#: Work in threads is not awaited.
SETTLE_PASSES = 20


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Cancel the callback. Idempotent, and a no-op after the call."""


class Clock(Protocol):
    """Source of time and timers."""

    def now(self) -> datetime:
        """Return the wall clock time, aware, in UTC. May jump; for timestamps only."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary fixed time; never decreases. For deadlines and durations."""

    async def sleep(self, seconds: float) -> None:
        """Sleep for ``seconds``; at least one pass of the event loop, also for zero or less."""

    def timer(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Schedule ``callback`` on the running loop after ``seconds``; never synchronously, also for zero or less."""


class RealClock:
    """System clock and timers of the running event loop."""

    # C functions without a Python frame: every request reads the clock several times.
    now = staticmethod(partial(datetime.now, UTC))  # noqa: TID251 — this is the clock
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))  # noqa: TID251 — this is the clock

    def timer(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(max(0.0, seconds), callback)


class _FakeTimer:
    """Timer of a ``FakeClock``."""

    __slots__ = ("_callback", "group")

    def __init__(self, callback: Callable[[], None], group: object) -> None:
        self.group = group
        self._callback: Callable[[], None] | None = callback

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
    """Clock for tests that only moves when advanced.

    Sleepers and timers fire one instant at a time, ordered by due time and, within an instant, by creation. After each
    instant ``settle`` is awaited, so that waits started by the woken code are registered before time continues; by
    default the event loop runs ``SETTLE_PASSES`` passes.
    """

    def __init__(self, start: datetime | None = None, *, settle: Callable[[], Awaitable[object]] | None = None) -> None:
        self._start = datetime(2026, 1, 1, tzinfo=UTC) if start is None else start
        self._settle = settle or _settle_passes
        self._elapsed = 0.0
        #: Heap by due time, then by order of creation, which no two timers share.
        self._timers: list[tuple[float, int, _FakeTimer]] = []
        self._serials = itertools.count()
        #: Latest result of ``now`` and its monotonic time.
        self._now = self._start
        self._now_at = 0.0

    def now(self) -> datetime:
        """Return the time; the same object until time moves."""
        elapsed = self._elapsed
        if elapsed != self._now_at:
            self._now, self._now_at = self._start + timedelta(seconds=elapsed), elapsed
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        await sleep_by_timer(self, seconds)

    def timer(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return self._add_timer(seconds, callback)

    def _add_timer(self, seconds: float, callback: Callable[[], None], *, group: object = None) -> Timer:
        """Add a timer; ``group`` has a meaning for subclasses only."""
        timer = _FakeTimer(callback, group)
        due = self._elapsed + seconds if seconds > 0 else self._elapsed
        heapq.heappush(self._timers, (due, next(self._serials), timer))
        return timer

    @property
    def waiting(self) -> int:
        """Number of pending sleepers and timers."""
        return sum(timer.pending for _, _, timer in self._timers)

    async def advance(self, seconds: float) -> None:
        """Advance by ``seconds``; timers that fall due fire at their own time."""
        if seconds < 0:
            raise ValueError("time does not go back")
        end = self._elapsed + seconds
        await self._settle()
        while (due := self._next_instant(end)) is not None:
            self._elapsed = max(self._elapsed, due)
            self._fire_due()
            await self._settle()
        self._elapsed = end

    async def jump(self, seconds: float) -> None:
        """Advance by ``seconds`` at once, like a suspended machine: timers due meanwhile all fire late, at the end."""
        if seconds < 0:
            raise ValueError("time does not go back")
        self._elapsed += seconds
        await self.advance(0)

    @property
    def next_due(self) -> float | None:
        """Monotonic time of the next sleeper or timer; None if absent."""
        return self._next_due()

    def _next_instant(self, end: float) -> float | None:
        """Return the time to which ``advance`` moves next, at most ``end``; None: no timer is due until then."""
        due = self._next_due()
        return due if due is not None and due <= end else None

    def _next_due(self) -> float | None:
        timers = self._timers
        while timers and not timers[0][2].pending:
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def _fire_due(self) -> None:
        """Fire all timers due now, except timers added by their callbacks."""
        due = []
        while self._timers and self._timers[0][0] <= self._elapsed:
            due.append(heapq.heappop(self._timers)[2])
        for timer in due:
            timer.fire()


async def sleep_by_timer(clock: Clock, seconds: float) -> None:
    """Sleep by a timer of ``clock``; a pass of the event loop for zero or less."""
    if seconds <= 0:
        await _one_pass()
        return
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = clock.timer(seconds, lambda: None if woken.done() else woken.set_result(None))
    try:
        await woken
    finally:
        timer.cancel()


async def _one_pass() -> None:
    await asyncio.sleep(0)  # noqa: TID251 — this is the clock


async def _settle_passes() -> None:
    for _ in range(SETTLE_PASSES):
        await _one_pass()
