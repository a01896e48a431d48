"""Rate-limiting work queue with priorities. Upstream: ``k8s.io/client-go/util/workqueue``."""

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


class ShutDown(Exception):  # noqa: N818 — not an error: the queue has ended
    """``get`` was called on a queue that is shut down and empty."""


class WorkQueue(Generic[K]):
    """Queue of keys, each processed by one worker at a time. See the package for its promises.

    Confined to one event loop; methods must not be called from another thread.
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
        #: Queued keys; disjoint from ``_processing``. Upstream: ``queue``.
        self._queued: PriorityOrder[K] = PriorityOrder()
        #: Time at which each key of ``_queued`` and ``_dirty`` was added.
        self._added_at: dict[K, float] = {}
        #: Keys being processed, with the start time. Upstream: ``processing``.
        self._processing: dict[K, float] = {}
        #: Keys added while being processed, queued again by ``done``. A subset of ``_processing``.
        self._dirty: dict[K, int] = {}
        self._delayed: DelayHeap[K] = DelayHeap()
        self._timer: Timer | None = None
        self._timer_due: float | None = None
        #: Workers waiting in ``get``, in order of arrival; a done future was woken or cancelled.
        self._getters: deque[asyncio.Future[None]] = deque()
        self._shut_down = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._metrics.watch(
            depth=self.__len__, unfinished=self._unfinished_seconds, longest=self._longest_running_seconds
        )

    def __len__(self) -> int:
        """Return the number of queued keys, without delayed keys and keys being processed."""
        return len(self._queued)

    @property
    def shutting_down(self) -> bool:
        return self._shut_down

    @property
    def delayed(self) -> int:
        """Number of delayed keys."""
        return len(self._delayed)

    @property
    def processing(self) -> int:
        """Number of keys being processed."""
        return len(self._processing)

    def add(self, key: K, *, priority: int = 0) -> None:
        """Queue ``key``. No effect if it is queued already (except for a higher priority), or after shutdown."""
        if self._shut_down:
            return
        if key not in self._added_at:
            self._added_at[key] = self._clock.monotonic()
            self._metrics.added()
        if key in self._processing:
            self._dirty[key] = max(priority, self._dirty.get(key, priority))
        else:
            self._enqueue(key, priority)

    def add_after(self, key: K, seconds: float, *, priority: int = 0) -> None:
        """Queue ``key`` after ``seconds``; the earliest of several times wins."""
        if self._shut_down:
            return
        self._metrics.retried()
        if seconds <= 0:
            self.add(key, priority=priority)
            return
        self._delayed.add(key, self._clock.monotonic() + seconds, priority)
        self._set_timer()

    def add_rate_limited(self, key: K, *, priority: int = 0) -> float:
        """Queue ``key`` after the delay of the rate limiter; return the delay in seconds."""
        seconds = self._limiter.when(key)
        self.add_after(key, seconds, priority=priority)
        return seconds

    def forget(self, key: K) -> None:
        """Reset the rate limiter for ``key``, after success or when giving up. The key stays in the queue."""
        self._limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """Return the number of failures of ``key`` since ``forget``."""
        return self._limiter.num_requeues(key)

    async def get(self) -> K:
        """Return the next key; the caller must call ``done``.

        Raises ``ShutDown`` after shutdown when the queue is empty.
        """
        while not self._queued:
            if self._shut_down:
                raise ShutDown(self.name)
            woken = asyncio.get_running_loop().create_future()
            self._getters.append(woken)
            try:
                await woken
            except asyncio.CancelledError:
                if woken.done() and not woken.cancelled():
                    self._wake_one()  # pass the wake-up on: this worker takes no key
                raise
        key, _ = self._queued.take()
        now = self._clock.monotonic()
        self._metrics.taken(now - self._added_at.pop(key))
        self._processing[key] = now
        self._idle.clear()
        return key

    def done(self, key: K) -> None:
        """End the processing of ``key``; queue it if it was added meanwhile."""
        started = self._processing.pop(key, None)
        if started is None:
            return
        self._metrics.finished(self._clock.monotonic() - started)
        priority = self._dirty.pop(key, None)
        if priority is not None:
            self._enqueue(key, priority)
        self._update_idle()

    def shut_down(self) -> None:
        """Accept no more keys and drop delayed ones; ``get`` returns queued keys, then raises ``ShutDown``."""
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
        """Shut down; return when all queued keys are processed.

        Waits forever without workers that get keys: bound it with a timeout.
        """
        self.shut_down()
        await self._idle.wait()

    def _enqueue(self, key: K, priority: int) -> None:
        self._queued.add(key, priority)
        self._idle.clear()
        self._wake_one()

    def _wake_one(self) -> None:
        while self._getters:
            woken = self._getters.popleft()
            if not woken.done():
                woken.set_result(None)
                return

    def _update_idle(self) -> None:
        if not self._queued and not self._processing:
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
        return sum(now - started for started in self._processing.values())

    def _longest_running_seconds(self) -> float:
        now = self._clock.monotonic()
        return max((now - started for started in self._processing.values()), default=0.0)
