"""Virtual time of embedded clusters."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from steersman.testing.clock import EPOCH, ClockError, TimeText, VirtualClock


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


async def test_advance_rejects_what_is_no_number():
    with pytest.raises(
        ClockError, match=r"datetime.timedelta\(seconds=60\): expected numbers, as in advance\(hours=24\)"
    ):
        await VirtualClock().advance(timedelta(minutes=1))


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
    with pytest.raises(ClockError, match="expected a datetime"):
        await clock.advance_to("2027-01-01")


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


def beating(clock, seconds=30):
    """Return the times of a periodic timer of the clock of heartbeats."""
    times = []

    def beat():
        times.append(clock.monotonic())
        clock.heartbeats.timer(seconds, beat)

    clock.heartbeats.timer(seconds, beat)
    return times


def skipping_clock(*, changes=lambda: 0, may_skip=lambda: True):
    clock = VirtualClock()
    clock.skip_quiet_stretches(changes, may_skip=may_skip)
    return clock


async def test_advance_skips_heartbeats_of_a_quiet_stretch_but_sends_them_at_its_end():
    clock = skipping_clock()
    times = beating(clock)
    await clock.advance(hours=1)
    assert times == [30, 60, 90, 120, 3600]


async def test_advance_fires_other_timers_at_their_time_when_it_skips():
    clock, fired = skipping_clock(), []
    times = beating(clock)
    clock.timer(1000, lambda: fired.append(clock.monotonic()))
    await clock.advance(hours=1)
    assert fired == [1000]
    assert 1000 in times
    assert len(times) < 12


async def test_advance_skips_a_stretch_that_is_shorter_than_the_quiet_time_before_it():
    clock = skipping_clock()
    clock.quiet_stretch_seconds = 200
    times = beating(clock)
    clock.timer(300, lambda: None)
    clock.timer(370, lambda: None)
    await clock.advance(390)
    assert times == [30, 60, 90, 120, 150, 180, 210, 300, 330, 360, 390]


async def test_monitors_stand_still_while_a_stretch_is_skipped():
    clock, fired = skipping_clock(), []
    beating(clock)
    clock.monitors.timer(150, lambda: fired.append(clock.monitors.monotonic()))
    await clock.advance(hours=1)
    assert not fired
    assert clock.monitors.monotonic() == clock.monotonic() - clock.skipped_seconds == 120
    assert clock.monitors.now() == clock.now()
    await clock.advance(30)
    assert fired == [150]


async def test_advance_does_not_skip_soon_after_a_change():
    clock, events = skipping_clock(changes=lambda: len(events)), []
    times = beating(clock)
    clock.timer(100, lambda: events.append("change"))
    await clock.advance(hours=1)
    assert times == [30, 60, 90, 120, 150, 180, 210, 240, 3600]


async def test_advance_does_not_skip_when_it_may_not():
    clock = skipping_clock(may_skip=lambda: False)
    times = beating(clock)
    await clock.advance(hours=1)
    assert len(times) == 120


async def test_short_advances_do_not_skip():
    clock = skipping_clock()
    times = beating(clock)
    for _ in range(30):
        await clock.advance(minutes=2)
    assert len(times) == 120


async def test_sleep_on_an_active_clock_ends_although_time_was_skipped():
    clock = skipping_clock()
    beating(clock, seconds=0.7)
    await clock.advance(hours=1000)
    due = clock.monitors.monotonic() + 0.1
    sleeping = asyncio.create_task(clock.monitors.sleep(0.1))
    await clock.advance(0.2)
    assert sleeping.done()
    assert clock.monitors.monotonic() >= due


async def test_time_text_is_formatted_once_for_each_instant():
    clock = VirtualClock()
    text = TimeText(clock)
    assert text() == "2026-01-01T00:00:00.000Z"
    assert text() is text()
    await clock.advance(0.25)
    assert text() == "2026-01-01T00:00:00.250Z"
