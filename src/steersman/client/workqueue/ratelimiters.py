"""Rate limiters: delay of a failed key, per key, over all keys, or combined.

Upstream: ``workqueue/default_rate_limiters.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from steersman.asynckit.backoff import exponential
from steersman.asynckit.ratelimit import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Hashable

    from steersman.asynckit.clock import Clock

K_contra = TypeVar("K_contra", bound="Hashable", contravariant=True)

#: Upstream: ``DefaultControllerRateLimiter``.
BASE_DELAY_SECONDS: Final = 0.005
MAX_DELAY_SECONDS: Final = 1000.0
BUCKET_RATE_PER_SECOND: Final = 10.0
BUCKET_BURST: Final = 100


class RateLimiter(Protocol[K_contra]):
    """Computes the delay of a failed key."""

    def when(self, key: K_contra, /) -> float:
        """Count a failure of ``key``; return the seconds until its retry."""

    def forget(self, key: K_contra, /) -> None:
        """Reset the failures of ``key``, after success or when giving up."""

    def num_requeues(self, key: K_contra, /) -> int:
        """Return the number of failures of ``key`` since ``forget``."""


class ItemExponentialFailureRateLimiter:
    """Delay of ``base · 2**failures`` per key, up to a maximum. Holds the keys that failed and were not forgotten."""

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


class BucketRateLimiter:
    """One token bucket for all keys: bounds the rate of all retries."""

    def __init__(
        self, *, clock: Clock, rate_per_second: float = BUCKET_RATE_PER_SECOND, burst: int = BUCKET_BURST
    ) -> None:
        self._bucket = TokenBucket(rate_per_second, burst, clock=clock)

    def when(self, key: Hashable, /) -> float:
        return self._bucket.reserve()

    def forget(self, key: Hashable, /) -> None:
        """Do nothing: tokens are not returned."""

    def num_requeues(self, key: Hashable, /) -> int:
        return 0


class ItemFastSlowRateLimiter:
    """Short delay for the first failures of a key, a long one for later failures."""

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


class MaxOfRateLimiter:
    """Maximum delay of several rate limiters."""

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
    """Return the default.

    Per key 5 ms doubling to 1000 s, and 10 retries per second over all keys after a burst of 100.
    """
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(), BucketRateLimiter(clock=clock))
