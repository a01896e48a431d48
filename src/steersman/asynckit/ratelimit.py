"""Token bucket based on a ``Clock``. Upstream: ``golang.org/x/time/rate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock


class TokenBucket:
    """Token bucket of ``rate_per_second`` with a burst of ``burst`` tokens; initially full.

    ``reserve`` may take future tokens and returns the delay until they exist, so waiters are served in order.
    """

    def __init__(self, rate_per_second: float, burst: float, *, clock: Clock) -> None:
        if rate_per_second <= 0 or burst < 1:
            raise ValueError("a token bucket needs a positive rate and room for one token")
        self._rate = rate_per_second
        self._burst = float(burst)
        self._clock = clock
        #: Negative while future tokens are reserved.
        self._tokens = float(burst)
        self._refilled_at = clock.monotonic()

    @property
    def tokens(self) -> float:
        """Available tokens; negative while future tokens are reserved."""
        self._refill()
        return self._tokens

    def try_take(self) -> bool:
        """Take a token if one is available; return whether it was."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def reserve(self) -> float:
        """Take a token, possibly a future one; return the seconds until it is available."""
        self._refill()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    async def take(self) -> None:
        """Wait for a token. A reserved token is spent even if the waiter is cancelled."""
        seconds = self.reserve()
        if seconds > 0:
            await self._clock.sleep(seconds)

    def _refill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._refilled_at) * self._rate)
        self._refilled_at = now
