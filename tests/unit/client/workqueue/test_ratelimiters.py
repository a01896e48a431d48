import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client.workqueue.ratelimiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    default_controller_rate_limiter,
)


def test_exponential_delay_doubles_up_to_the_maximum_until_forget():
    limiter = ItemExponentialFailureRateLimiter(base_delay_seconds=1, max_delay_seconds=4)
    assert [limiter.when("a") for _ in range(4)] == [1, 2, 4, 4]
    assert limiter.when("b") == 1
    assert limiter.num_requeues("a") == 4
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0
    assert limiter.when("a") == 1


def test_bucket_rate_limiter_bounds_all_keys_together():
    limiter = BucketRateLimiter(clock=FakeClock(), rate_per_second=10, burst=1)
    assert [limiter.when(key) for key in "abc"] == pytest.approx([0, 0.1, 0.2])
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0


def test_fast_slow_rate_limiter_starts_fast():
    limiter = ItemFastSlowRateLimiter(fast_seconds=1, slow_seconds=10, fast_tries=2)
    assert [limiter.when("a") for _ in range(4)] == [1, 1, 10, 10]
    assert limiter.num_requeues("a") == 4
    limiter.forget("a")
    assert limiter.when("a") == 1


def test_max_of_rate_limiter_returns_the_longest_delay():
    limiter = MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(base_delay_seconds=2),
        ItemFastSlowRateLimiter(fast_seconds=5, slow_seconds=1, fast_tries=1),
    )
    assert [limiter.when("a") for _ in range(3)] == [5, 4, 8]
    assert limiter.num_requeues("a") == 3
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0


def test_max_of_rate_limiter_requires_a_limiter():
    with pytest.raises(ValueError, match="no rate limiters"):
        MaxOfRateLimiter()


def test_default_controller_rate_limiter_is_client_gos():
    limiter = default_controller_rate_limiter(FakeClock())
    assert [limiter.when("a") for _ in range(3)] == pytest.approx([0.005, 0.01, 0.02])
    waits = [limiter.when(key) for key in range(100)]
    assert waits[:97] == pytest.approx([0.005] * 97)
    assert waits[97:] == pytest.approx([0.1, 0.2, 0.3])
