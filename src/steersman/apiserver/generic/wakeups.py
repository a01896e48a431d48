"""Wake-ups of watches: immediate after an idle time, in rounds while changes continue.

A change that wakes 200 watchers costs 200 writes to sockets. At 500 changes a second that is more than a core can do, so
changes that follow each other closely share a round, which wakes all waiters of their keys; the next one begins no
sooner than the cost of the last one allows. A single change wakes its waiters at once.

Control loops of the server write no sockets, and clients expect their results soon after the change: they are woken with
each change, outside of the rounds.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock, Timer

#: Share of the loop's time that short rounds may take: the next round starts eight durations after the start of the last.
_IDLE_SHARE: Final = 1 / 8
#: Upper bound of that interval …
ROUND_SECONDS_MIN: Final = 0.004
#: … except after rounds that exceed this share of it: other tasks get at least a third of the loop's time.
_ROUND_SHARE: Final = 2 / 3
#: Upper bound of the interval in any case.
ROUND_SECONDS_MAX: Final = 0.03
#: Waiters that are woken in one slice, about half a millisecond of work, before other tasks run.
_SLICE: Final = 32


class WatchWaiter(Protocol):
    """A watch request, or another task, waiting for events."""

    def wake(self) -> None:
        """Check for changes. Must not raise; may be called without a change, and after ``remove``."""


class Wakeups:
    """Waiters by scope: the prefix of the cache or of a namespace, or one key."""

    __slots__ = (
        "_clock",
        "_controllers",
        "_next_round",
        "_prefix",
        "_round",
        "_round_began",
        "_round_size",
        "_round_took",
        "_timer",
        "_touched",
        "_waiting",
    )

    def __init__(self, prefix: str, *, clock: Clock) -> None:
        self._prefix = prefix
        self._clock = clock
        #: Waiters by scope, in the order in which they were added; no entry is empty.
        self._waiting: dict[str, dict[WatchWaiter, None]] = {}
        #: Control loops of the server, in the order in which they were added.
        self._controllers: dict[WatchWaiter, None] = {}
        #: Scopes changed since the last round began. Ordered, so that a simulation depends on its seed, not on hashes.
        self._touched: dict[str, None] = {}
        #: Remaining waiters of the current round, in reverse order; None between rounds.
        self._round: list[WatchWaiter] | None = None
        self._round_began = 0.0
        self._round_size = 0
        #: Duration in seconds of the last round of a single slice, without other work of the loop.
        self._round_took = 0.0
        self._next_round = 0.0
        self._timer: Timer | None = None

    def add(self, scope: str, waiter: WatchWaiter) -> None:
        """Wake ``waiter`` after each change below ``scope``, until ``remove``."""
        waiting = self._waiting.get(scope)
        if waiting is None:
            self._waiting[scope] = {waiter: None}
        else:
            waiting[waiter] = None

    def remove(self, scope: str, waiter: WatchWaiter) -> None:
        """Remove a waiter. Idempotent."""
        waiting = self._waiting.get(scope)
        if waiting is not None:
            waiting.pop(waiter, None)
            if not waiting:
                del self._waiting[scope]

    def add_controller(self, waiter: WatchWaiter) -> None:
        """Wake the control loop of ``waiter`` with each change of the cache, until ``remove_controller``."""
        self._controllers[waiter] = None

    def remove_controller(self, waiter: WatchWaiter) -> None:
        """Remove a control loop. Idempotent."""
        self._controllers.pop(waiter, None)

    def touch(self, key: str) -> None:
        """Record a changed key; ``wake`` wakes its waiters, except those that are added later and have seen the change."""
        waiting = self._waiting
        if not waiting:
            return
        for scope in (key, key[: key.rfind("/") + 1], self._prefix):
            if scope in waiting:
                self._touched[scope] = None

    def wake(self) -> None:
        """Wake control loops now, and the waiters of changed keys in the next pass of the event loop or the next round."""
        for controller in self._controllers:
            controller.wake()
        self._schedule_round()

    def _schedule_round(self) -> None:
        if not self._touched or self._timer is not None or self._round is not None:
            return
        delay = self._next_round - self._clock.monotonic()
        if delay > 0:
            self._timer = self._clock.timer(delay, self._begin)
        else:
            self._round = []
            asyncio.get_running_loop().call_soon(self._begin)

    def end(self) -> None:
        """Wake all waiters."""
        for controller in list(self._controllers):
            controller.wake()
        for waiting in list(self._waiting.values()):
            for waiter in list(waiting):
                waiter.wake()

    def _begin(self) -> None:
        self._timer = None
        self._round_began = self._clock.monotonic()
        touched, self._touched = self._touched, {}
        waiters: list[WatchWaiter] = []
        for scope in touched:
            waiters += self._waiting.get(scope, ())
        waiters.reverse()
        self._round = waiters
        self._round_size = len(waiters)
        self._go_on()

    def _go_on(self) -> None:
        waiters = self._round or []
        for _ in range(min(len(waiters), _SLICE)):
            waiters.pop().wake()
        if self._round_size <= _SLICE:
            self._round_took = self._clock.monotonic() - self._round_began
        # Runs after the tasks just woken.
        asyncio.get_running_loop().call_soon(self._go_on if waiters else self._finish)

    def _finish(self) -> None:
        """End the round; the next one begins after the pause that leaves time for other work."""
        self._round = None
        took = self._round_took
        if self._round_size > _SLICE:
            took = self._clock.monotonic() - self._round_began
        pause = max(min(took / _IDLE_SHARE, ROUND_SECONDS_MIN), took / _ROUND_SHARE)
        self._next_round = self._round_began + min(pause, ROUND_SECONDS_MAX)
        self._schedule_round()
