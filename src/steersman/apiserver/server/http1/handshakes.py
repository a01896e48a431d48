"""TLS handshakes in progress, and the number of those that failed.

A protocol is not notified of a failed handshake: its connection is never made. So a handshake counts as failed when its time
limit has passed. Upstream: ``TLSHandshakeErrors`` of staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock

#: Time limit of handshakes.
HANDSHAKE_SECONDS: Final = 10.0
#: Time after which a handshake that has not completed has failed.
_FAILED_AFTER_SECONDS: Final = HANDSHAKE_SECONDS + 1.0


class Handshakes:
    """Handshakes of one server."""

    __slots__ = ("_clock", "_failed", "_last", "_started")

    def __init__(self, clock: Clock) -> None:
        self._clock: Final = clock
        self._last = 0
        #: Start of handshakes in progress, by number, oldest first.
        self._started: Final[dict[int, float]] = {}
        self._failed = 0

    @property
    def failed(self) -> int:
        """Return the number of handshakes that have failed."""
        self._sweep()
        return self._failed

    def begin(self) -> int:
        """Record an accepted connection; return the number of its handshake."""
        self._sweep()
        self._last += 1
        self._started[self._last] = self._clock.monotonic()
        return self._last

    def complete(self, number: int) -> None:
        """Record the end of a handshake."""
        self._started.pop(number, None)

    def _sweep(self) -> None:
        latest = self._clock.monotonic() - _FAILED_AFTER_SECONDS
        while self._started:
            number = next(iter(self._started))
            if self._started[number] > latest:
                break
            del self._started[number]
            self._failed += 1
