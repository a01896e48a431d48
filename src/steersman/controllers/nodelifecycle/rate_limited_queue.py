"""Rate-limited queue of Nodes to taint, one per zone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.asynckit.ratelimit import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock, Timer

#: One Node at a time, as upstream.
_BURST: Final = 1
#: Added to timers to compensate for rounding.
_LATE_SECONDS: Final = 0.001


class RateLimitedQueue:
    """Waiting Nodes of one zone; at most all its Nodes.

    ``call`` is invoked once for each Node that the rate limiter admits, which stays queued until ``remove``.
    """

    def __init__(self, rate: float, *, clock: Clock, call: Callable[[str], None], settle_seconds: float = 0.0) -> None:
        """``settle_seconds``: minimum delay, so that the zone state counts Nodes that fail together."""
        self._clock = clock
        self._call = call
        self._settle_seconds = settle_seconds
        #: Node → earliest time of its call.
        self._waiting: dict[str, float] = {}
        self._rate = rate
        self._bucket = TokenBucket(rate, _BURST, clock=clock) if rate > 0 else None
        self._timer: Timer | None = None

    def add(self, name: str) -> None:
        """Enqueue a Node. Idempotent."""
        self._waiting.setdefault(name, self._clock.monotonic() + self._settle_seconds)
        self._serve()

    def remove(self, name: str) -> None:
        """Remove a Node from the queue."""
        self._waiting.pop(name, None)

    def set_rate(self, rate: float) -> None:
        """Set another rate; tokens used at the old one are not returned."""
        if rate == self._rate:
            return
        spent = self._bucket is not None and not self._bucket.try_take()
        self._rate = rate
        self._bucket = TokenBucket(rate, _BURST, clock=self._clock) if rate > 0 else None
        if spent and self._bucket is not None:
            self._bucket.try_take()
        self._serve()

    def close(self) -> None:
        """Stop calling."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _serve(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._bucket is None:
            return
        while self._waiting:
            name, due = next(iter(self._waiting.items()))
            wait_seconds = due - self._clock.monotonic()
            if wait_seconds <= 0 and self._bucket.try_take():
                del self._waiting[name]
                self._call(name)
                continue
            wait_seconds = max(wait_seconds, (1 - self._bucket.tokens) / self._rate)
            self._timer = self._clock.timer(wait_seconds + _LATE_SECONDS, self._serve)
            return
