"""Clocks of embedded clusters: virtual time, and real time with the same methods."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.testing.errors import ClockError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

#: Start of virtual time, unless another is given.
EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
#: Real pause between two steps of a clock that runs.
_STEP_SECONDS: Final = 0.02
#: Real time without a request or an event after which clients from outside count as settled.
QUIET_SECONDS: Final = 0.05


class VirtualClock(FakeClock):
    """Time that stands still unless it is advanced. Timers fire in order, each after the work of the one before settled.

    Clients in other processes work in real time: their work has settled once none of their requests is in flight, and for
    ``quiet_seconds`` of real time they sent no request and received no event of a watch.
    """

    is_virtual: Final = True

    def __init__(self, start: datetime | None = None, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        super().__init__(start or EPOCH)
        self.quiet_seconds: Final = quiet_seconds
        self._running: asyncio.Task[None] | None = None
        #: Held by what moves time, so that two callers do not move it at once.
        self._moving = asyncio.Lock()

    def use(self, settle: Callable[[], Awaitable[object]]) -> None:
        """Await ``settle`` after each instant."""
        self._settle = settle

    async def advance(
        self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0
    ) -> None:
        """Let so much time pass. Raises ``ClockError`` for a negative duration."""
        total = seconds + 60 * minutes + 3600 * hours + 86400 * days
        if total < 0:
            raise ClockError(f"cannot advance by {total:g} seconds: time does not go back")
        async with self._moving:
            await super().advance(total)

    async def advance_to(self, time: datetime) -> None:
        """Advance to a time. Raises ``ClockError`` for a time in the past, or without time zone."""
        if time.tzinfo is None:
            raise ClockError(f"cannot advance to {time}: it has no time zone")
        left = (time - self.now()).total_seconds()
        if left < 0:
            raise ClockError(f"cannot advance to {time.isoformat()}: it is {self.now().isoformat()} already")
        await self.advance(left)

    async def advance_to_next_timer(self, *, within_seconds: float) -> bool:
        """Advance to the next timer; return False, without moving, if none is due within so many seconds."""
        due = self.next_due
        if due is None or due - self.monotonic() > within_seconds:
            return False
        await self.advance(max(0.0, due - self.monotonic()))
        return True

    @property
    def is_running(self) -> bool:
        """True if time passes by itself; it does not wait for clients in other processes then."""
        return self._running is not None

    def run(self, speed: float = 1.0) -> None:
        """Let time pass by itself, ``speed`` times as fast as real time, until ``pause``. Raises ``ClockError``."""
        if speed <= 0:
            raise ClockError(f"cannot run at speed {speed:g}: it must be positive")
        self.pause()
        self._running = asyncio.get_running_loop().create_task(self._run(speed), name="virtual clock")

    def pause(self) -> None:
        """Stop what ``run`` started. Idempotent."""
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
