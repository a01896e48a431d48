"""Timers of a connection: for the rest of a head or body, for a client that does not read, and for idleness."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.server.http1.limits import Timeouts
    from steersman.asynckit.clock import Clock, Timer


class ConnectionTimers:
    """At most one timer of each sort runs. An expired read or write aborts the connection, an expired idleness closes it."""

    __slots__ = (
        "_abort",
        "_clock",
        "_close",
        "_idle_since",
        "_idle_timer",
        "_is_head_timed",
        "_read_timer",
        "_timeouts",
        "_write_timer",
    )

    def __init__(
        self, clock: Clock, timeouts: Timeouts, *, abort: Callable[[], None], close: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._timeouts = timeouts
        #: None after ``release``.
        self._abort: Callable[[], None] | None = abort
        self._close: Callable[[], None] | None = close
        self._read_timer: Timer | None = None
        #: The read timer is for a head.
        self._is_head_timed = False
        self._write_timer: Timer | None = None
        #: Time since which the connection is idle; None if it is not.
        self._idle_since: float | None = None
        #: Timer at the earliest end of idleness: one timer is reused for many idle periods.
        self._idle_timer: Timer | None = None

    # Reading

    def expect_head(self) -> None:
        """Run the timer of an incomplete head, or none if the connection is idle."""
        if self._idle_since is not None:
            self.stop_reading()
        elif self._read_timer is None:
            self._start_read(self._timeouts.head, is_head=True)

    def expect_body(self) -> None:
        """Run the timer of an incomplete body."""
        if self._read_timer is None or self._is_head_timed:
            self.stop_reading()
            self._start_read(self._timeouts.body, is_head=False)

    def stop_reading(self) -> None:
        """Cancel the timer of a head or body, if one runs."""
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def linger(self, close_transport: Callable[[], None]) -> None:
        """Call ``close_transport`` when unread data has been dropped for a moment."""
        self._read_timer = self._clock.timer(self._timeouts.linger, close_transport)

    def _start_read(self, seconds: float, *, is_head: bool) -> None:
        self._is_head_timed = is_head
        self._read_timer = self._clock.timer(seconds, self._expire)

    def _expire(self) -> None:
        self._read_timer = self._write_timer = None
        if self._abort is not None:
            self._abort()

    # Writing

    def start_writing(self) -> None:
        """Run the timer of data that the client does not read."""
        if self._write_timer is None:
            self._write_timer = self._clock.timer(self._timeouts.write_stall, self._expire)

    def stop_writing(self) -> None:
        """Cancel the timer of data that the client does not read, if it runs."""
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    # Idleness

    def begin_idleness(self) -> None:
        """Close the connection after the idle timeout, unless ``end_idleness`` comes first."""
        self._idle_since = self._clock.monotonic()
        if self._idle_timer is None:
            self._idle_timer = self._clock.timer(self._timeouts.idle, self._check_idleness)

    def end_idleness(self) -> None:
        """Count the connection as busy; the timer continues for the next idle period."""
        self._idle_since = None

    def _check_idleness(self) -> None:
        """Close the connection if it was idle too long, else restart the timer."""
        self._idle_timer = None
        if self._idle_since is None:
            return
        remaining_seconds = self._idle_since + self._timeouts.idle - self._clock.monotonic()
        if remaining_seconds > 0:
            self._idle_timer = self._clock.timer(remaining_seconds, self._check_idleness)
        elif self._close is not None:
            self._close()

    def release(self) -> None:
        """Cancel all timers, and forget the connection, which refers to them."""
        self._abort = self._close = None
        self.stop_reading()
        self.stop_writing()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
