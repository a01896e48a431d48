import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client.workqueue.ratelimiters import (
    FastSlow,
    ItemExponentialBackoff,
    LongestOf,
    OverallBucket,
    default_controller_rate_limiter,
)


def test_a_keys_waits_double_up_to_the_maximum_and_begin_anew_when_it_is_forgotten():
    limiter = ItemExponentialBackoff(base_delay_seconds=1, max_delay_seconds=4)
    assert [limiter.when("a") for _ in range(4)] == [1, 2, 4, 4]
    assert limiter.when("b") == 1
    assert limiter.num_requeues("a") == 4
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0
    assert limiter.when("a") == 1


def test_the_bucket_bounds_all_keys_together():
    limiter = OverallBucket(clock=FakeClock(), rate_per_second=10, burst=1)
    assert [limiter.when(key) for key in "abc"] == pytest.approx([0, 0.1, 0.2])
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0


def test_fast_tries_come_before_slow_ones():
    limiter = FastSlow(fast_seconds=1, slow_seconds=10, fast_tries=2)
    assert [limiter.when("a") for _ in range(4)] == [1, 1, 10, 10]
    assert limiter.num_requeues("a") == 4
    limiter.forget("a")
    assert limiter.when("a") == 1


def test_the_slowest_of_several_decides():
    limiter = LongestOf(
        ItemExponentialBackoff(base_delay_seconds=2), FastSlow(fast_seconds=5, slow_seconds=1, fast_tries=1)
    )
    assert [limiter.when("a") for _ in range(3)] == [5, 4, 8]
    assert limiter.num_requeues("a") == 3
    limiter.forget("a")
    assert limiter.num_requeues("a") == 0


def test_none_of_several_is_refused():
    with pytest.raises(ValueError, match="no rate limiters"):
        LongestOf()


def test_the_default_is_that_of_client_go():
    limiter = default_controller_rate_limiter(FakeClock())
    assert [limiter.when("a") for _ in range(3)] == pytest.approx([0.005, 0.01, 0.02])
    waits = [limiter.when(key) for key in range(100)]
    assert waits[:97] == pytest.approx([0.005] * 97)
    assert waits[97:] == pytest.approx([0.1, 0.2, 0.3])
