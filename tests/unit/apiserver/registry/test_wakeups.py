"""Who is woken, and when."""

from __future__ import annotations

from steersman.apiserver.registry.wakeups import Wakeups
from steersman.asynckit.clock import FakeClock

PREFIX = "/registry/pods/"


def touch(wakeups: Wakeups, *keys: str) -> None:
    for key in keys:
        wakeups.touch(key)
    wakeups.wake()


async def test_those_concerned_are_woken_and_no_others():
    wakeups = Wakeups(PREFIX, clock=FakeClock())
    everything, ours, theirs = (wakeups.wait(PREFIX + scope) for scope in ("", "ns/", "other/"))
    one, other = wakeups.wait(PREFIX + "ns/a"), wakeups.wait(PREFIX + "ns/b")
    touch(wakeups, PREFIX + "ns/a")
    assert [each.done() for each in (everything, ours, one)] == [True, True, True]
    assert [each.done() for each in (theirs, other)] == [False, False]


async def test_what_follows_closely_waits_for_the_next_round():
    clock = FakeClock()
    wakeups = Wakeups(PREFIX, clock=clock)
    touch(wakeups, PREFIX + "ns/a") if wakeups.wait(PREFIX) else None
    second = wakeups.wait(PREFIX)
    touch(wakeups, PREFIX + "ns/b")
    assert not second.done()
    await clock.advance(0.004)
    assert second.done()


async def test_after_a_quiet_time_the_first_is_told_at_once():
    clock = FakeClock()
    wakeups = Wakeups(PREFIX, clock=clock)
    for _ in range(3):
        await clock.advance(1)
        woken = wakeups.wait(PREFIX)
        touch(wakeups, PREFIX + "ns/a")
        assert woken.done()


async def test_a_round_that_took_long_puts_off_the_next():
    clock = FakeClock()
    wakeups = Wakeups(PREFIX, clock=clock)
    wakeups.wait(PREFIX)
    touch(wakeups, PREFIX + "ns/a")
    clock._elapsed += 0.01  # what those woken take before the loop comes back
    await clock.advance(0)
    second = wakeups.wait(PREFIX)
    touch(wakeups, PREFIX + "ns/b")
    await clock.advance(0.009)
    assert not second.done()
    await clock.advance(0.002)
    assert second.done()


async def test_nothing_is_remembered_for_nobody():
    wakeups = Wakeups(PREFIX, clock=FakeClock())
    touch(wakeups, PREFIX + "ns/a")
    assert not wakeups.wait(PREFIX).done()


async def test_who_no_longer_waits_is_forgotten():
    wakeups = Wakeups(PREFIX, clock=FakeClock())
    woken = wakeups.wait(PREFIX)
    wakeups.forget(PREFIX, woken)
    wakeups.forget(PREFIX, woken)
    touch(wakeups, PREFIX + "ns/a")
    assert not woken.done()


async def test_the_end_wakes_everyone():
    clock = FakeClock()
    wakeups = Wakeups(PREFIX, clock=clock)
    waiting = [wakeups.wait(PREFIX + scope) for scope in ("", "ns/", "ns/a")]
    wakeups.end()
    assert all(each.done() for each in waiting)
    assert clock.waiting == 0
