"""Rates of frames that cost the client nothing and the server some work.

Upstream bounds the queue of responses to them (``maxQueuedControlFrames`` of golang.org/x/net/http2), which a client that reads
them does not fill.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.server.http2.limits import (
    CONTROL_FRAMES_BURST,
    CONTROL_FRAMES_PER_SECOND,
    RESET_BURST_PER_STREAM,
    RESETS_PER_STREAM_SECOND,
)
from steersman.asynckit.ratelimit import TokenBucket

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock


class FrameBudgets:
    """Budgets of one connection."""

    __slots__ = ("_control", "_credit", "_resets", "is_exceeded")

    def __init__(self, max_streams: int, *, clock: Clock) -> None:
        self._control: Final = TokenBucket(CONTROL_FRAMES_PER_SECOND, CONTROL_FRAMES_BURST, clock=clock)
        self._resets: Final = TokenBucket(
            RESETS_PER_STREAM_SECOND * max_streams, RESET_BURST_PER_STREAM * max_streams, clock=clock
        )
        #: WINDOW_UPDATE frames that sent data entitles the client to.
        self._credit = 0
        self.is_exceeded = False

    def add_data_frames(self, count: int) -> None:
        """Count sent DATA frames: each may be acknowledged for its stream and for the connection."""
        self._credit = min(self._credit + 2 * count, CONTROL_FRAMES_BURST)

    def take_window_update(self) -> bool:
        """Count a WINDOW_UPDATE frame; report whether the client is entitled to it."""
        if not self._credit:
            return False
        self._credit -= 1
        return True

    def take_control_frames(self, count: int) -> None:
        """Count frames that carry nothing for a request."""
        for _ in range(count):
            if not self._control.try_take():
                self.is_exceeded = True
                return

    def take_reset(self) -> None:
        """Count a stream that the client has reset, or that is malformed or refused (CVE-2023-44487)."""
        if not self._resets.try_take():
            self.is_exceeded = True
