"""The work queue between an informer and its workers."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from steersman.asynckit.clock import RealClock
from steersman.client.workqueue.delays import DelayHeap
from steersman.client.workqueue.metrics import NoMetrics
from steersman.client.workqueue.ordering import PriorityOrder
from steersman.client.workqueue.ratelimiters import default_controller_rate_limiter

if TYPE_CHECKING:
    from collections.abc import Hashable

    from steersman.asynckit.clock import Clock, Timer
    from steersman.client.workqueue.metrics import QueueMetrics
    from steersman.client.workqueue.ratelimiters import RateLimiter

K = TypeVar("K", bound="Hashable")


class ShutDown(Exception):  # noqa: N818 — no fault: the queue has ended
    """``get`` on a queue that is shut down and empty."""


class WorkQueue(Generic[K]):
    """Keys to be worked on, each by one worker at a time. See the package for what is promised.

    For one event loop; no method may be called from another thread.
    """

    def __init__(
        self,
        name: str = "",
        *,
        clock: Clock | None = None,
        rate_limiter: RateLimiter[K] | None = None,
        metrics: QueueMetrics | None = None,
    ) -> None:
        self.name = name
        self._clock = clock or RealClock()
        self._limiter: RateLimiter[K] = rate_limiter or default_controller_rate_limiter(self._clock)
        self._metrics = metrics or NoMetrics()
        #: Order of work; a key here is not in anybody's hands.
        self._waiting: PriorityOrder[K] = PriorityOrder()
        #: When each key of ``_waiting`` and ``_again`` was added.
        self._since: dict[K, float] = {}
        #: In a worker's hands, since when.
        self._working: dict[K, float] = {}
        #: Added while in a worker's hands: will wait once that one is done. A subset of ``_working``.
        self._again: dict[K, int] = {}
        self._delayed: DelayHeap[K] = DelayHeap()
        self._timer: Timer | None = None
        self._timer_due: float | None = None
        #: Workers in ``get``, in order of arrival; a done future was woken or cancelled.
        self._getters: deque[asyncio.Future[None]] = deque()
        self._shut_down = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._metrics.watch(
            depth=self.__len__, unfinished=self._unfinished_seconds, longest=self._longest_running_seconds
        )

    def __len__(self) -> int:
        """Keys that wait now; those at work and those delayed do not count."""
        return len(self._waiting)

    @property
    def shutting_down(self) -> bool:
        return self._shut_down

    @property
    def delayed(self) -> int:
        """Keys that are due later."""
        return len(self._delayed)

    @property
    def working(self) -> int:
        """Keys in workers' hands."""
        return len(self._working)

    def add(self, key: K, *, priority: int = 0) -> None:
        """``key`` needs work. Nothing changes when it waits already (but for a larger priority), or after shutdown."""
        if self._shut_down:
            return
        if key not in self._since:
            self._since[key] = self._clock.monotonic()
            self._metrics.added()
        if key in self._working:
            self._again[key] = max(priority, self._again.get(key, priority))
        else:
            self._enqueue(key, priority)

    def add_after(self, key: K, seconds: float, *, priority: int = 0) -> None:
        """Add ``key`` when ``seconds`` have passed; of several moments the earliest counts."""
        if self._shut_down:
            return
        self._metrics.retried()
        if seconds <= 0:
            self.add(key, priority=priority)
            return
        self._delayed.add(key, self._clock.monotonic() + seconds, priority)
        self._set_timer()

    def add_rate_limited(self, key: K, *, priority: int = 0) -> float:
        """Add ``key`` when the rate limiter says that it may be tried again; seconds until then."""
        seconds = self._limiter.when(key)
        self.add_after(key, seconds, priority=priority)
        return seconds

    def forget(self, key: K) -> None:
        """``key`` worked, or is given up: its backoff starts anew. It does not take the key out of the queue."""
        self._limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """Failures of ``key`` since it was forgotten."""
        return self._limiter.num_requeues(key)

    async def get(self) -> K:
        """The next key, now in the caller's hands until ``done``. Raises ``ShutDown`` at the end."""
        while not self._waiting:
            if self._shut_down:
                raise ShutDown(self.name)
            woken = asyncio.get_running_loop().create_future()
            self._getters.append(woken)
            try:
                await woken
            except asyncio.CancelledError:
                if woken.done() and not woken.cancelled():
                    self._wake_one()  # what this worker was woken for is another's now
                raise
        key, _ = self._waiting.take()
        now = self._clock.monotonic()
        self._metrics.taken(now - self._since.pop(key))
        self._working[key] = now
        self._idle.clear()
        return key

    def done(self, key: K) -> None:
        """The caller's work on ``key`` has ended; what was added meanwhile waits from now on."""
        started = self._working.pop(key, None)
        if started is None:
            return
        self._metrics.finished(self._clock.monotonic() - started)
        again = self._again.pop(key, None)
        if again is not None:
            self._enqueue(key, again)
        self._note_idle()

    def shut_down(self) -> None:
        """Take nothing new and forget what is delayed; ``get`` hands out what waits, then raises ``ShutDown``."""
        self._shut_down = True
        self._delayed.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for woken in self._getters:
            if not woken.done():
                woken.set_result(None)
        self._getters.clear()

    async def shut_down_with_drain(self) -> None:
        """Shut down, and return when everything that waited or was at work is done.

        Without workers that go on taking keys it waits for ever: bound it with a timeout.
        """
        self.shut_down()
        await self._idle.wait()

    def _enqueue(self, key: K, priority: int) -> None:
        self._waiting.add(key, priority)
        self._idle.clear()
        self._wake_one()

    def _wake_one(self) -> None:
        while self._getters:
            woken = self._getters.popleft()
            if not woken.done():
                woken.set_result(None)
                return

    def _note_idle(self) -> None:
        if not self._waiting and not self._working:
            self._idle.set()

    def _set_timer(self) -> None:
        due = self._delayed.next_due
        if due is None or (self._timer is not None and self._timer_due is not None and self._timer_due <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due
        self._timer = self._clock.timer(due - self._clock.monotonic(), self._fire)

    def _fire(self) -> None:
        self._timer = None
        for key, priority in self._delayed.pop_due(self._clock.monotonic()):
            self.add(key, priority=priority)
        self._set_timer()

    def _unfinished_seconds(self) -> float:
        now = self._clock.monotonic()
        return sum(now - started for started in self._working.values())

    def _longest_running_seconds(self) -> float:
        now = self._clock.monotonic()
        return max((now - started for started in self._working.values()), default=0.0)
