"""Callers that wait for the sinks to reach a revision. Confined to the event loop."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock


class RevisionWaiters:
    """Futures by revision, which ``resolve`` completes. Bounded by the callers."""

    __slots__ = ("_clock", "_heap", "_serials")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: (revision, serial, future), least first.
        self._heap: list[tuple[int, int, asyncio.Future[bool]]] = []
        self._serials = itertools.count()

    async def wait(self, revision: int, *, seconds: float) -> bool:
        """Return True when the caller is woken, False after ``seconds``."""
        reached: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._heap, (revision, next(self._serials), reached))
        timer = self._clock.timer(seconds, lambda: _settle(reached, is_woken=False))
        try:
            return await reached
        finally:
            timer.cancel()
            if not reached.done():
                reached.cancel()

    def resolve(self, revision: int) -> None:
        """Wake the callers that wait for ``revision`` or an earlier one."""
        heap = self._heap
        while heap and (heap[0][0] <= revision or heap[0][2].done()):
            _settle(heapq.heappop(heap)[2], is_woken=True)

    def resolve_all(self) -> None:
        """Wake all callers, as at shutdown."""
        while self._heap:
            _settle(self._heap.pop()[2], is_woken=True)


def _settle(future: asyncio.Future[bool], *, is_woken: bool) -> None:
    if not future.done():
        future.set_result(is_woken)
