import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.ratelimit import TokenBucket


async def test_bucket_allows_a_burst_then_the_rate():
    bucket = TokenBucket(10, 3, clock=FakeClock())
    assert [bucket.reserve() for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])


async def test_tokens_refill_up_to_the_burst():
    clock = FakeClock()
    bucket = TokenBucket(1, 2, clock=clock)
    assert [bucket.try_take() for _ in range(3)] == [True, True, False]
    await clock.advance(1)
    assert [bucket.try_take() for _ in range(2)] == [True, False]
    await clock.advance(100)
    assert bucket.tokens == 2


async def test_take_serves_waiters_in_order():
    clock, taken = FakeClock(), []
    bucket = TokenBucket(2, 1, clock=clock)

    async def taker(name):
        await bucket.take()
        taken.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(taker(name))
        await clock.advance(5)
    assert taken == [("a", 0), ("b", 0.5), ("c", 1)]


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (1, 0)])
def test_bucket_rejects_a_zero_rate_or_burst(rate, burst):
    with pytest.raises(ValueError, match="positive rate"):
        TokenBucket(rate, burst, clock=FakeClock())


@given(st.lists(st.floats(0, 3), max_size=50))
def test_bucket_never_exceeds_burst_and_rate(pauses):
    class Stepped(FakeClock):
        def step(self, seconds):
            self._elapsed += seconds

    clock = Stepped()
    bucket = TokenBucket(2, 5, clock=clock)
    taken = 0
    for pause in pauses:
        clock.step(pause)
        taken += bucket.try_take()
    assert taken <= 5 + 2 * clock.monotonic()
