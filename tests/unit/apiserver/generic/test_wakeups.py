"""Wake-ups of waiters."""

from __future__ import annotations

import asyncio

import pytest

from steersman.apiserver.generic.wakeups import Wakeups
from steersman.asynckit.clock import FakeClock

PREFIX = "/registry/pods/"


class Room:
    """Sleepers over one cache, and a clock."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.wakeups = Wakeups(PREFIX, clock=self.clock)

    def waiter(self, scope: str = "", *, takes_seconds: float = 0.0) -> WatchWaiter:
        waiter = WatchWaiter(self.clock, takes_seconds)
        self.wakeups.add(PREFIX + scope, waiter)
        return waiter

    async def change(self, *names: str, after_seconds: float = 0.0) -> None:
        for name in names:
            self.wakeups.touch(PREFIX + name)
        self.wakeups.wake()
        await self.clock.advance(after_seconds)


class WatchWaiter:
    def __init__(self, clock: FakeClock, takes_seconds: float) -> None:
        self.woken = 0
        self._clock = clock
        self._takes_seconds = takes_seconds

    def wake(self) -> None:
        self.woken += 1
        self._clock._elapsed += self._takes_seconds


async def test_only_concerned_waiters_are_woken():
    room = Room()
    scopes = ("", "ns/", "ns/a", "other/", "ns/b")
    waiters = [room.waiter(scope) for scope in scopes]
    await room.change("ns/a")
    assert [waiter.woken for waiter in waiters] == [1, 1, 1, 0, 0]


@pytest.mark.parametrize(("takes_seconds", "pause_seconds"), [(0.0001, 0.0008), (0.001, 0.004), (0.01, 0.015)])
async def test_close_followers_wait_for_the_next_round(takes_seconds, pause_seconds):
    room = Room()
    waiter = room.waiter(takes_seconds=takes_seconds)
    await room.change("ns/a")
    await room.change("ns/b")
    await room.change("ns/c")
    await room.clock.advance(pause_seconds * 0.9)
    assert waiter.woken == 1
    await room.clock.advance(pause_seconds * 0.2)
    assert waiter.woken == 2


async def test_free_round_causes_no_wait():
    room = Room()
    waiter = room.waiter()
    for times in (1, 2, 3):
        await room.change("ns/a")
        assert waiter.woken == times


async def test_first_change_after_a_quiet_time_wakes_at_once():
    room = Room()
    waiter = room.waiter()
    for times in (1, 2, 3):
        await room.clock.advance(1)
        await room.change("ns/a")
        assert waiter.woken == times


async def test_long_round_delays_the_next():
    room = Room()
    waiter = room.waiter(takes_seconds=0.01)
    await room.change("ns/a", after_seconds=0.01)
    await room.change("ns/b", after_seconds=0.004)
    assert waiter.woken == 1
    await room.clock.advance(0.002)
    assert waiter.woken == 2


async def test_cost_of_a_round_excludes_other_work_of_the_loop():
    room = Room()
    waiter = room.waiter()

    class Handler:
        """A request that the loop serves between the slice and the end of the round."""

        def wake(self) -> None:
            asyncio.get_running_loop().call_soon(self.serve)

        def serve(self) -> None:
            room.clock._elapsed += 0.01

    room.wakeups.add(PREFIX, Handler())
    for times in (1, 2, 3):
        await room.change("ns/a")
        assert waiter.woken == times


async def test_round_wakes_each_waiter_once():
    room = Room()
    waiters = [room.waiter() for _ in range(500)]
    await room.change("ns/a", after_seconds=0.001)
    assert {waiter.woken for waiter in waiters} == {1}


async def test_changes_during_a_round_are_not_lost():
    room = Room()
    waiter = room.waiter()

    class Writer:
        def __init__(self) -> None:
            self.remaining = 1

        def wake(self) -> None:
            for _ in range(self.remaining):
                room.wakeups.touch(PREFIX + "ns/b")
                room.wakeups.wake()
            self.remaining = 0

    room.wakeups.add(PREFIX + "ns/a", Writer())
    await room.change("ns/a")
    assert waiter.woken == 2


async def test_no_state_is_kept_without_waiters():
    room = Room()
    await room.change("ns/a")
    waiter = room.waiter()
    await room.clock.advance(1)
    assert waiter.woken == 0


async def test_removed_waiter_is_not_woken():
    room = Room()
    waiter = room.waiter()
    room.wakeups.remove(PREFIX, waiter)
    room.wakeups.remove(PREFIX, waiter)
    await room.change("ns/a")
    assert waiter.woken == 0


async def test_close_wakes_all_waiters():
    room = Room()
    waiters = [room.waiter(scope) for scope in ("", "ns/", "ns/a")]
    room.wakeups.end()
    assert [waiter.woken for waiter in waiters] == [1, 1, 1]


async def test_controllers_are_woken_with_each_change_outside_of_rounds():
    room = Room()
    watcher, controller = room.waiter(takes_seconds=0.01), WatchWaiter(room.clock, 0.0)
    room.wakeups.add_controller(controller)
    await room.change("ns/a")
    assert (watcher.woken, controller.woken) == (1, 1)
    for name in ("ns/b", "ns/c"):
        await room.change(name)
    assert (watcher.woken, controller.woken) == (1, 3)
    await room.clock.advance(1)
    assert (watcher.woken, controller.woken) == (2, 3)
    room.wakeups.end()
    assert controller.woken == 4
    room.wakeups.remove_controller(controller)
    room.wakeups.remove_controller(controller)
    await room.change("ns/d")
    assert controller.woken == 4


async def test_controllers_are_woken_without_watchers():
    room = Room()
    controller = WatchWaiter(room.clock, 0.0)
    room.wakeups.add_controller(controller)
    await room.change("ns/a")
    assert controller.woken == 1
