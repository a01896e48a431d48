"""Who may be tainted next: one queue for each zone, with the zone's rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.asynckit.ratelimit import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock, Timer

#: One Node at a time, as upstream.
_BURST: Final = 1
#: Timers ring a little late, so that what they wait for is there whatever was rounded.
_LATE_SECONDS: Final = 0.001


class Turns:
    """The Nodes of one zone that wait; at most all of them.

    ``call`` is told the name of each whose turn it is, once; ``leave`` takes it out of the queue and forgets that.
    """

    def __init__(self, rate: float, *, clock: Clock, call: Callable[[str], None], settle_seconds: float = 0.0) -> None:
        """``settle_seconds``: nobody's turn comes sooner, so that Nodes that fail together are counted together."""
        self._clock = clock
        self._call = call
        self._settle_seconds = settle_seconds
        #: When each may be called at the earliest.
        self._waiting: dict[str, float] = {}
        self._rate = rate
        self._bucket = TokenBucket(rate, _BURST, clock=clock) if rate > 0 else None
        self._timer: Timer | None = None

    def ask(self, name: str) -> None:
        """Wait for a turn. Idempotent."""
        self._waiting.setdefault(name, self._clock.monotonic() + self._settle_seconds)
        self._serve()

    def leave(self, name: str) -> None:
        """Wait no more."""
        self._waiting.pop(name, None)

    def set_rate(self, rate: float) -> None:
        """Another rate; what was used up of the old one is not given back."""
        if rate == self._rate:
            return
        spent = self._bucket is not None and not self._bucket.try_take()
        self._rate = rate
        self._bucket = TokenBucket(rate, _BURST, clock=self._clock) if rate > 0 else None
        if spent and self._bucket is not None:
            self._bucket.try_take()
        self._serve()

    def close(self) -> None:
        """Nobody is called any more."""
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
