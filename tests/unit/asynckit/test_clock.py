from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from steersman.asynckit.clock import FakeClock, RealClock


async def sleep_then(clock, seconds, woken, name):
    await clock.sleep(seconds)
    woken.append((name, clock.monotonic()))


async def test_sleepers_wake_in_order_of_their_due_time():
    clock, woken = FakeClock(), []
    tasks = [asyncio.ensure_future(sleep_then(clock, seconds, woken, seconds)) for seconds in (3, 1, 2, 9)]
    await clock.advance(5)
    assert woken == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert clock.monotonic() == 5.0
    await clock.advance(4)
    await asyncio.gather(*tasks)
    assert woken[-1] == (9, 9.0)


async def test_sleepers_of_one_instant_wake_in_order_of_creation():
    clock, woken = FakeClock(), []
    tasks = [asyncio.ensure_future(sleep_then(clock, 1, woken, name)) for name in "abc"]
    await clock.advance(1)
    await asyncio.gather(*tasks)
    assert [name for name, _ in woken] == ["a", "b", "c"]


async def test_advance_wakes_repeated_sleeps():
    clock, rounds = FakeClock(), []

    async def every_ten_seconds():
        while True:
            await clock.sleep(10)
            rounds.append(clock.monotonic())

    task = asyncio.ensure_future(every_ten_seconds())
    await clock.advance(3600)
    task.cancel()
    assert len(rounds) == 360
    assert rounds[-1] == 3600.0


async def test_sleepers_do_not_wake_early():
    clock, woken = FakeClock(), []
    task = asyncio.ensure_future(sleep_then(clock, 1, woken, "a"))
    await clock.advance(0.999)
    assert woken == []
    task.cancel()


async def test_sleep_of_zero_yields_once():
    clock, woken = FakeClock(), []
    await asyncio.gather(sleep_then(clock, 0, woken, "a"), sleep_then(clock, -1, woken, "b"))
    assert woken == [("a", 0.0), ("b", 0.0)]


async def test_cancelled_sleeper_is_removed():
    clock = FakeClock()
    task = asyncio.ensure_future(clock.sleep(5))
    await clock.advance(1)
    assert clock.waiting == 1
    task.cancel()
    await asyncio.wait([task])
    assert clock.waiting == 0


async def test_timer_calls_once_unless_cancelled():
    clock, calls = FakeClock(), []
    clock.timer(1, lambda: calls.append("kept"))
    cancelled = clock.timer(1, lambda: calls.append("cancelled"))
    cancelled.cancel()
    await clock.advance(10)
    assert calls == ["kept"]


async def test_timer_of_zero_is_called_by_advance_of_zero():
    clock, calls = FakeClock(), []
    clock.timer(0, lambda: calls.append("now"))
    assert calls == []
    await clock.advance(0)
    assert calls == ["now"]


async def test_jump_fires_all_due_timers_at_the_new_time():
    clock, woken = FakeClock(), []
    tasks = [asyncio.ensure_future(sleep_then(clock, seconds, woken, seconds)) for seconds in (3, 1, 90)]
    await clock.advance(0)
    await clock.jump(60)
    await asyncio.gather(*tasks[:2])
    assert woken == [(1, 60.0), (3, 60.0)]
    await clock.advance(30)
    await tasks[2]
    assert woken[-1] == (90, 90.0)
    with pytest.raises(ValueError, match="does not go back"):
        await clock.jump(-1)


async def test_advance_moves_the_wall_clock():
    start = datetime(2030, 5, 1, tzinfo=UTC)
    clock = FakeClock(start)
    assert clock.now() == start
    await clock.advance(90)
    assert clock.now() == start + timedelta(seconds=90)


async def test_wall_clock_returns_the_same_time_while_it_stands_still():
    clock = FakeClock()
    assert clock.now() is clock.now()
    before = clock.now()
    await clock.advance(1)
    assert clock.now() - before == timedelta(seconds=1)


async def test_advance_rejects_negative_seconds():
    with pytest.raises(ValueError, match="back"):
        await FakeClock().advance(-1)


async def test_real_clock_is_aware_and_moves():
    clock = RealClock()
    assert clock.now().tzinfo is UTC
    before = clock.monotonic()
    await clock.sleep(-1)
    assert clock.monotonic() >= before


async def test_real_clock_timer_runs_on_the_loop():
    called = asyncio.get_running_loop().create_future()
    RealClock().timer(0, lambda: called.set_result("called"))
    assert await called == "called"
