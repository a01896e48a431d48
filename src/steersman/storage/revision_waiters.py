"""Callers that wait for the sinks to reach a revision. Confined to the event loop."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock


class RevisionWaiters:
    """Futures by revision; ``resolve`` wakes those whose revision has come. Bounded by the callers."""

    __slots__ = ("_clock", "_heap", "_serials")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: (revision, serial, future), least first.
        self._heap: list[tuple[int, int, asyncio.Future[None]]] = []
        self._serials = itertools.count()

    async def wait(self, revision: int, *, seconds: float) -> None:
        """Return when ``revision`` has been resolved, or after ``seconds``."""
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._heap, (revision, next(self._serials), reached))
        timer = self._clock.timer(seconds, lambda: _settle(reached))
        try:
            await reached
        finally:
            timer.cancel()
            if not reached.done():
                reached.cancel()

    def resolve(self, revision: int) -> None:
        """Wake the callers that wait for ``revision`` or an earlier one."""
        heap = self._heap
        while heap and (heap[0][0] <= revision or heap[0][2].done()):
            _settle(heapq.heappop(heap)[2])

    def resolve_all(self) -> None:
        """Wake all callers, as at shutdown."""
        while self._heap:
            _settle(self._heap.pop()[2])


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
