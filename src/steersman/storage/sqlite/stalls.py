"""Stall detection: a stopped writer process or a frozen filesystem does not respond.

Only time distinguishes a stalled writer from a slow one. While writes are in flight, progress is checked every
``STALL_SECONDS``; without progress since the last check the pipeline is stalled: callers are refused instead of
waiting, until the writer responds again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock, Timer

#: Writes wait at least this long, and at most twice as long, before they are refused.
STALL_SECONDS = 5.0


class StallDetector:
    """Calls ``on_stall`` once when work in flight makes no progress."""

    def __init__(self, clock: Clock, *, has_work: Callable[[], bool], on_stall: Callable[[], None]) -> None:
        self._clock = clock
        self._has_work = has_work
        self._on_stall = on_stall
        self._timer: Timer | None = None
        self._has_progress = False
        self.is_stalled = False

    def started(self) -> None:
        """Record that work is in flight."""
        if self._timer is None and not self.is_stalled:
            self._has_progress = False
            self._timer = self._clock.timer(STALL_SECONDS, self._check)

    def progressed(self) -> None:
        """Record progress."""
        self._has_progress = True
        self.is_stalled = False

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if not self._has_work():
            return
        if self._has_progress:
            self.started()
        else:
            self.is_stalled = True
            self._on_stall()
