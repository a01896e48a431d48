"""When watchers run: at once after a quiet time, in rounds while changes keep coming.

A change that wakes 200 watchers costs 200 writes to sockets. At 500 changes a second that is more than a core can do, so
changes that follow each other closely are told together: a round wakes everyone concerned, and the next one comes no
sooner than the cost of the last one allows. A lone change is told at once.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock, Timer

#: From one round's start to the next one's: at least this, and at least twice what the round took, so that fan-out never
#: takes more than half of the loop's time; but never longer than the other.
ROUND_SECONDS_MIN: Final = 0.004
ROUND_SECONDS_MAX: Final = 0.05

Woken = asyncio.Future[None]


class Wakeups:
    """Who waits for changes of which keys. A scope is the cache's whole prefix, a namespace's, or one key."""

    __slots__ = ("_clock", "_next_round", "_prefix", "_round_began", "_timer", "_touched", "_waiting")

    def __init__(self, prefix: str, *, clock: Clock) -> None:
        self._prefix = prefix
        self._clock = clock
        #: Scope → those who wait; no entry is empty.
        self._waiting: dict[str, set[Woken]] = {}
        #: Scopes touched since the last round.
        self._touched: set[str] = set()
        self._round_began = 0.0
        self._next_round = 0.0
        self._timer: Timer | None = None

    def wait(self, scope: str) -> Woken:
        """A future that is done once something under ``scope`` was touched, or all is over. ``forget`` it if unused."""
        woken: Woken = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(scope)
        if waiting is None:
            self._waiting[scope] = {woken}
        else:
            waiting.add(woken)
        return woken

    def forget(self, scope: str, woken: Woken) -> None:
        """Stop waiting. Idempotent."""
        waiting = self._waiting.get(scope)
        if waiting is not None:
            waiting.discard(woken)
            if not waiting:
                del self._waiting[scope]

    def touch(self, key: str) -> None:
        """A key has changed; who waits for it is woken by ``wake``."""
        if self._waiting:
            self._touched.add(key)
            self._touched.add(key[: key.rfind("/") + 1])

    def wake(self) -> None:
        """Wake those concerned by what was touched: now, or when the next round is due."""
        if not self._touched or self._timer is not None:
            return
        now = self._clock.monotonic()
        if now >= self._next_round:
            self._round(now)
        else:
            self._timer = self._clock.timer(self._next_round - now, self._due)

    def end(self) -> None:
        """Wake everyone, whatever was touched."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._touched.clear()
        for waiting in self._waiting.values():
            _settle(waiting)
        self._waiting.clear()

    def _due(self) -> None:
        self._timer = None
        self._round(self._clock.monotonic())

    def _round(self, now: float) -> None:
        touched, self._touched = self._touched, set()
        touched.add(self._prefix)
        for scope in touched:
            waiting = self._waiting.pop(scope, None)
            if waiting is not None:
                _settle(waiting)
        self._round_began = now
        self._next_round = now + ROUND_SECONDS_MIN
        # Runs after those just woken.
        asyncio.get_running_loop().call_soon(self._measure)

    def _measure(self) -> None:
        """The round is over: the next one comes when as much time has passed again."""
        took = self._clock.monotonic() - self._round_began
        self._next_round = self._round_began + min(max(2 * took, ROUND_SECONDS_MIN), ROUND_SECONDS_MAX)


def _settle(waiting: set[Woken]) -> None:
    for woken in waiting:
        if not woken.done():
            woken.set_result(None)
