"""How long a key that failed waits: per key, over all keys, or the longer of several answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from steersman.asynckit.backoff import exponential
from steersman.asynckit.ratelimit import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Hashable

    from steersman.asynckit.clock import Clock

K_contra = TypeVar("K_contra", bound="Hashable", contravariant=True)

#: As client-go's ``DefaultControllerRateLimiter``.
BASE_DELAY_SECONDS: Final = 0.005
MAX_DELAY_SECONDS: Final = 1000.0
BUCKET_RATE_PER_SECOND: Final = 10.0
BUCKET_BURST: Final = 100


class RateLimiter(Protocol[K_contra]):
    """Answers how long a key waits, and keeps what it needs for that."""

    def when(self, key: K_contra, /) -> float:
        """Note a failure of ``key``; seconds until it may be tried again."""

    def forget(self, key: K_contra, /) -> None:
        """``key`` worked, or is given up: its next failure is the first one again."""

    def num_requeues(self, key: K_contra, /) -> int:
        """Failures of ``key`` since it was forgotten."""


class ItemExponentialBackoff:
    """``base · 2**failures`` for each key by itself, up to a maximum. Holds the keys that failed and were not forgotten."""

    def __init__(
        self, *, base_delay_seconds: float = BASE_DELAY_SECONDS, max_delay_seconds: float = MAX_DELAY_SECONDS
    ) -> None:
        self._base = base_delay_seconds
        self._max = max_delay_seconds
        self._failures: dict[Hashable, int] = {}

    def when(self, key: Hashable, /) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return exponential(self._base, failures, self._max)

    def forget(self, key: Hashable, /) -> None:
        self._failures.pop(key, None)

    def num_requeues(self, key: Hashable, /) -> int:
        return self._failures.get(key, 0)


class OverallBucket:
    """One token bucket for all keys: bounds how often anything is tried again."""

    def __init__(
        self, *, clock: Clock, rate_per_second: float = BUCKET_RATE_PER_SECOND, burst: int = BUCKET_BURST
    ) -> None:
        self._bucket = TokenBucket(rate_per_second, burst, clock=clock)

    def when(self, key: Hashable, /) -> float:
        return self._bucket.reserve()

    def forget(self, key: Hashable, /) -> None:
        """Tokens are not given back."""

    def num_requeues(self, key: Hashable, /) -> int:
        return 0


class FastSlow:
    """A short wait for the first tries of a key, a long one after them."""

    def __init__(self, *, fast_seconds: float, slow_seconds: float, fast_tries: int) -> None:
        self._fast = fast_seconds
        self._slow = slow_seconds
        self._tries = fast_tries
        self._failures: dict[Hashable, int] = {}

    def when(self, key: Hashable, /) -> float:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return self._fast if failures <= self._tries else self._slow

    def forget(self, key: Hashable, /) -> None:
        self._failures.pop(key, None)

    def num_requeues(self, key: Hashable, /) -> int:
        return self._failures.get(key, 0)


class LongestOf:
    """Asks several limiters and waits as long as the slowest says (``MaxOfRateLimiter``)."""

    def __init__(self, *limiters: RateLimiter[Hashable]) -> None:
        if not limiters:
            raise ValueError("no rate limiters")
        self._limiters = limiters

    def when(self, key: Hashable, /) -> float:
        return max([limiter.when(key) for limiter in self._limiters])

    def forget(self, key: Hashable, /) -> None:
        for limiter in self._limiters:
            limiter.forget(key)

    def num_requeues(self, key: Hashable, /) -> int:
        return max(limiter.num_requeues(key) for limiter in self._limiters)


def default_controller_rate_limiter(clock: Clock) -> RateLimiter[Hashable]:
    """Per key from 5 ms doubling to 1000 s, and 10 tries a second over all keys after a burst of 100."""
    return LongestOf(ItemExponentialBackoff(), OverallBucket(clock=clock))
