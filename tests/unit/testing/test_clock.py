"""Virtual time of embedded clusters."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.testing.clock import EPOCH, ClockError, VirtualClock


async def test_virtual_clock_stands_still():
    clock = VirtualClock()
    assert clock.now() == clock.now() == EPOCH


async def test_advance_adds_all_units():
    clock = VirtualClock()
    await clock.advance(1, minutes=2, hours=3, days=4)
    assert clock.now() - EPOCH == timedelta(days=4, hours=3, minutes=2, seconds=1)


async def test_advance_fires_timers_in_order_at_their_time():
    clock, fired = VirtualClock(), []
    for seconds in (30, 10, 20):
        clock.timer(seconds, lambda: fired.append(clock.monotonic()))
    await clock.advance(minutes=1)
    assert fired == [10, 20, 30]


async def test_advance_rejects_a_negative_duration():
    with pytest.raises(ClockError, match="cannot advance by -60 seconds: time does not go back"):
        await VirtualClock().advance(minutes=-1)


async def test_advance_to_reaches_the_time():
    clock, time = VirtualClock(), datetime(2026, 1, 2, 3, tzinfo=UTC)
    await clock.advance_to(time)
    assert clock.now() == time


async def test_advance_to_rejects_the_past_and_naive_times():
    clock = VirtualClock()
    with pytest.raises(ClockError, match="it is 2026-01-01T00:00:00"):
        await clock.advance_to(datetime(2025, 1, 1, tzinfo=UTC))
    with pytest.raises(ClockError, match="no time zone"):
        await clock.advance_to(datetime(2027, 1, 1))  # noqa: DTZ001 — rejected


async def test_advance_to_next_timer_moves_only_within_the_bound():
    clock = VirtualClock()
    clock.timer(5, lambda: None)
    assert not await clock.advance_to_next_timer(within_seconds=4)
    assert clock.monotonic() == 0
    assert await clock.advance_to_next_timer(within_seconds=5)
    assert clock.monotonic() == 5


async def test_run_lets_time_pass_until_pause():
    clock = VirtualClock()
    clock.run(speed=10_000)
    await clock.sleep(60)
    clock.pause()
    assert clock.monotonic() >= 60


async def test_run_rejects_a_speed_of_zero():
    with pytest.raises(ClockError, match="must be positive"):
        VirtualClock().run(speed=0)
