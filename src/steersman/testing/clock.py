"""Clocks of embedded clusters: virtual time, and real time with the same methods."""

from __future__ import annotations

import asyncio
import heapq
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from steersman.asynckit.clock import FakeClock, RealClock, sleep_by_timer
from steersman.testing.errors import ClockError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.asynckit.clock import Clock, Timer

#: Default start of virtual time.
EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
#: Real pause between two steps of a clock that runs.
_STEP_SECONDS: Final = 0.02
#: Real time without a request or an event after which clients from outside count as settled.
QUIET_SECONDS: Final = 0.05

#: Shortest delay of an ``ActiveClock``: rounding could make shorter ones end before its monotonic time has moved.
_SHORTEST_SECONDS: Final = 1e-6
#: Default time without a change after which a quiet stretch is skipped.
QUIET_STRETCH_SECONDS: Final = 120.0
#: Shortest stretch that is skipped: the heartbeats at the end of a shorter one would cost as much as those within it.
_SKIPPED_SECONDS_MIN: Final = 80.0


def duration_seconds(seconds: float, *, minutes: float, hours: float, days: float) -> float:
    """Return a duration in seconds. Raises ``ClockError`` for negative durations and values that are no numbers."""
    for part in (seconds, minutes, hours, days):
        if not isinstance(part, int | float):
            raise ClockError(f"cannot advance by {part!r}: expected numbers, as in advance(hours=24)")
    total = seconds + 60 * minutes + 3600 * hours + 86400 * days
    if total < 0:
        raise ClockError(f"cannot advance by {total:g} seconds: time does not go back")
    return total


def check_time(time: datetime) -> None:
    """Raise ``ClockError`` unless ``time`` is a datetime with a time zone."""
    if not isinstance(time, datetime):
        raise ClockError(f"cannot advance to {time!r}: expected a datetime")
    if time.tzinfo is None:
        raise ClockError(f"cannot advance to {time}: it has no time zone")


class TimeText:
    """Current time of a clock in RFC 3339, with milliseconds. Formatted once for each instant."""

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._time: datetime | None = None
        self._text = ""

    def __call__(self) -> str:
        now = self._clock.now()
        if now is not self._time:
            self._time, self._text = now, now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return self._text


class ActiveClock:
    """View of a ``VirtualClock`` whose monotonic time and timers pause while that clock skips a quiet interval."""

    def __init__(self, clock: VirtualClock, *, fires_after_skip: bool) -> None:
        """``fires_after_skip``: pending timers fire at the end of each skipped stretch."""
        self._clock = clock
        self.fires_after_skip: Final = fires_after_skip

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic() - self._clock.skipped_seconds

    async def sleep(self, seconds: float) -> None:
        await sleep_by_timer(self, seconds)

    def timer(self, seconds: float, callback: Callable[[], None]) -> Timer:
        seconds = max(seconds, _SHORTEST_SECONDS) if seconds > 0 else 0.0
        return self._clock._add_timer(seconds, callback, group=self)


class VirtualClock(FakeClock):
    """Time that passes only when it is advanced. Timers fire in order, each after the work of the previous one has settled.

    ``advance`` skips quiet stretches: after only heartbeats for ``quiet_stretch_seconds``, it continues at
    the next timer that is not one of ``heartbeats`` or ``monitors``. The heartbeats are then sent, so that all are recent.

    Clients in other processes run in real time: their work has settled once none of their requests is in flight and they have
    sent no request and received no watch event for ``quiet_seconds`` of real time.
    """

    is_virtual: Final = True

    def __init__(self, start: datetime | None = None, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        super().__init__(start or EPOCH)
        self.quiet_seconds: Final = quiet_seconds
        self._running: asyncio.Task[None] | None = None
        #: Held while time is advanced, so that two callers do not advance it concurrently.
        self._moving = asyncio.Lock()
        #: Clock of heartbeats, and clock of the timers that wait for heartbeats or may be skipped in a quiet stretch.
        self.heartbeats: Final = ActiveClock(self, fires_after_skip=True)
        self.monitors: Final = ActiveClock(self, fires_after_skip=False)
        #: Total length of the skipped stretches.
        self.skipped_seconds = 0.0
        self.quiet_stretch_seconds = QUIET_STRETCH_SECONDS
        self._changes: Callable[[], int] | None = None
        self._may_skip: Callable[[], bool] = lambda: True
        self._changes_seen = 0
        self._quiet_from = 0.0

    def use(self, settle: Callable[[], Awaitable[object]]) -> None:
        """Await ``settle`` after each instant."""
        self._settle = settle

    def skip_quiet_stretches(self, changes: Callable[[], int], *, may_skip: Callable[[], bool]) -> None:
        """Skip stretches in which ``changes``, a count of all events beside heartbeats, stays equal, if ``may_skip``."""
        self._changes, self._may_skip = changes, may_skip

    async def advance(
        self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0
    ) -> None:
        """Advance by a duration. Raises ``ClockError`` if it is negative."""
        total = duration_seconds(seconds, minutes=minutes, hours=hours, days=days)
        async with self._moving:
            self._quiet_from = self._elapsed
            await super().advance(total)

    def _next_instant(self, end: float) -> float | None:
        instant = super()._next_instant(end)
        if instant is None or self._changes is None:
            return instant
        changes = self._changes()
        if changes != self._changes_seen:
            self._changes_seen, self._quiet_from = changes, self._elapsed
        if self._elapsed - self._quiet_from < self.quiet_stretch_seconds or not self._may_skip():
            return instant
        others = [due for due, _, timer in self._timers if timer.pending and timer.group is None]
        stretch_end = min([end, *others])
        is_worthwhile = stretch_end - self._elapsed >= _SKIPPED_SECONDS_MIN
        return self._skip_to(stretch_end) if is_worthwhile else instant

    def _skip_to(self, time: float) -> float:
        """Pause active time until ``time``; return it."""
        skipped = time - self._elapsed
        self.skipped_seconds += skipped
        for at, (due, serial, timer) in enumerate(self._timers):
            if isinstance(timer.group, ActiveClock):
                self._timers[at] = (time if timer.group.fires_after_skip else due + skipped, serial, timer)
        heapq.heapify(self._timers)
        return time

    async def advance_to(self, time: datetime) -> None:
        """Advance to a time. Raises ``ClockError`` for a time in the past, or without time zone."""
        check_time(time)
        remaining_seconds = (time - self.now()).total_seconds()
        if remaining_seconds < 0:
            raise ClockError(f"cannot advance to {time.isoformat()}: it is {self.now().isoformat()} already")
        await self.advance(remaining_seconds)

    async def advance_to_next_timer(self, *, within_seconds: float) -> bool:
        """Advance to the next timer; return False, without advancing, if none is due within ``within_seconds``."""
        due = self.next_due
        if due is None or due - self.monotonic() > within_seconds:
            return False
        await self.advance(max(0.0, due - self.monotonic()))
        return True

    @property
    def is_running(self) -> bool:
        """True if time passes by itself; it then does not wait for clients in other processes."""
        return self._running is not None

    def run(self, speed: float = 1.0) -> None:
        """Let time pass by itself, ``speed`` times as fast as real time, until ``pause``. Raises ``ClockError``."""
        if speed <= 0:
            raise ClockError(f"cannot run at speed {speed:g}: it must be positive")
        self.pause()
        self._running = asyncio.get_running_loop().create_task(self._run(speed), name="virtual clock")

    def pause(self) -> None:
        """Stop the clock after ``run``. Idempotent."""
        if self._running is not None:
            self._running.cancel()
            self._running = None

    async def _run(self, speed: float) -> None:
        real = RealClock()
        last = real.monotonic()
        while True:
            await real.sleep(_STEP_SECONDS)
            now = real.monotonic()
            await self.advance((now - last) * speed)
            last = now


class SteadyClock(RealClock):
    """The system's clock, with the methods of ``VirtualClock`` that raise."""

    is_virtual: Final = False
    is_running: Final = True

    def __init__(self, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        self.quiet_seconds: Final = quiet_seconds
        self.heartbeats: Final = self
        self.monitors: Final = self
        self.quiet_stretch_seconds = QUIET_STRETCH_SECONDS

    async def advance(
        self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0
    ) -> None:
        """Raise ``ClockError``."""
        raise _real()

    async def advance_to(self, time: datetime) -> None:
        """Raise ``ClockError``."""
        raise _real()

    def run(self, speed: float = 1.0) -> None:
        """Raise ``ClockError``."""
        raise _real()

    def pause(self) -> None:
        """Raise ``ClockError``."""
        raise _real()


def _real() -> ClockError:
    return ClockError('this cluster runs on the system\'s clock; create it with clock="virtual"')
