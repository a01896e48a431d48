"""Clock of a cluster in another process."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from steersman.testing.clock import check_time, duration_seconds

if TYPE_CHECKING:
    from steersman.testing.kit.connection import ClusterProcess

#: Timeout of a step of virtual time, in real time.
_ADVANCE_SECONDS: Final = 600.0


class ClusterClock:
    """Clock of all components of a cluster. Only virtual time can be moved."""

    def __init__(self, process: ClusterProcess) -> None:
        self._process: Final = process

    def now(self) -> datetime:
        """Return the time of the cluster."""
        return datetime.fromisoformat(self._process.call("clock.now"))

    def advance(self, seconds: float = 0.0, *, minutes: float = 0.0, hours: float = 0.0, days: float = 0.0) -> None:
        """Advance virtual time: timers fire in order, and the work of each settles before the next fires.

        This includes the work of operators in other processes, which has settled after ``quiet_seconds`` (option of the
        cluster) without requests. Raises ``SettleError`` if they do not become quiet.
        Raises ``ClockError`` for a negative duration, and for real time.
        """
        total = duration_seconds(seconds, minutes=minutes, hours=hours, days=days)
        self._process.call("clock.advance", {"seconds": total}, timeout_seconds=_ADVANCE_SECONDS)

    def advance_to(self, time: datetime) -> None:
        """Advance to a time. Raises ``ClockError`` for a time in the past, or without time zone."""
        check_time(time)
        self._process.call("clock.advance_to", {"time": time.isoformat()}, timeout_seconds=_ADVANCE_SECONDS)

    def run(self, speed: float = 1.0) -> None:
        """Let virtual time pass by itself, ``speed`` times as fast as real time, until ``pause``. Raises ``ClockError``."""
        self._process.call("clock.run", {"speed": speed})

    def pause(self) -> None:
        """Stop the clock after ``run``. Idempotent."""
        self._process.call("clock.pause")
