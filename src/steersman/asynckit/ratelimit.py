"""A token bucket over a ``Clock``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock


class TokenBucket:
    """``rate_per_second`` on average, up to ``burst`` at once; full at the start.

    Tokens may be owed: ``reserve`` always takes one and says how long to wait before acting on it, so waiters are
    served in the order in which they asked.
    """

    def __init__(self, rate_per_second: float, burst: float, *, clock: Clock) -> None:
        if rate_per_second <= 0 or burst < 1:
            raise ValueError("a token bucket needs a positive rate and room for one token")
        self._rate = rate_per_second
        self._burst = float(burst)
        self._clock = clock
        #: Negative when future tokens are promised already.
        self._tokens = float(burst)
        self._counted_at = clock.monotonic()

    @property
    def tokens(self) -> float:
        """What could be taken now; negative when that much is owed."""
        self._refill()
        return self._tokens

    def try_take(self) -> bool:
        """Take a token if there is one now."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def reserve(self) -> float:
        """Take a token, maybe a future one; seconds to wait until it is there."""
        self._refill()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    async def take(self) -> None:
        """Wait for a token. One that is waited for is spent even if the waiter is cancelled."""
        seconds = self.reserve()
        if seconds > 0:
            await self._clock.sleep(seconds)

    def _refill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._counted_at) * self._rate)
        self._counted_at = now
