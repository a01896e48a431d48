"""Cyclic garbage collection that does not block the event loop.

A collection visits every container of its generations and holds the interpreter lock meanwhile: 100 ms for a million. So
that hardly any visits all that a server stores, what survives is frozen, i.e. no longer visited:

| collection | visits | when |
| --- | --- | --- |
| young, middle | up to 10,000 and 100,000 new containers | automatically |
| recent | what survived the middle generation and is not frozen yet | every 10 s |
| whole | all containers | when garbage can have grown by a quarter; each 10 minutes when idle; each hour |

Reference counting frees frozen objects as before. Only reference cycles that became garbage after they were frozen wait for
a whole collection; requests and connections leave none behind.

The hook of a collection is Python code, in which the interpreter switches threads. In CPython 3.11 calls of C
functions, decoders included, collect while they allocate; compiled modules hardly let the event loop run otherwise.
"""

from __future__ import annotations

import gc
import sys
import time
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock

#: New containers until the youngest generation is collected, which takes up to a millisecond.
YOUNG_MAX: Final = 10_000
#: Collections of the youngest generation until the middle one is collected, which takes up to 15 ms.
_MIDDLE_MAX: Final = 10
#: Collections of the middle generation until all are collected: never.
_OLD_MAX: Final = 1 << 30
#: Survivors of the middle generation that wait for a recent collection; more are frozen without one.
RECENT_MAX: Final = 50_000

COLLECT_SECONDS: Final = 10.0
#: Intervals without a pause of large requests after which garbage is collected nevertheless.
BUSY_MAX: Final = 6

#: Growth of the memory blocks in use that makes a whole collection due: a quarter, and some 20 MB.
GROWTH_DIVISOR: Final = 4
GROWTH_BLOCKS_MIN: Final = 200_000
#: Time after which a whole collection is due when the process is idle, and in any case.
IDLE_WHOLE_SECONDS: Final = 600.0
WHOLE_SECONDS: Final = 3600.0
#: Largest share of a core that an idle process uses.
IDLE_SHARE: Final = 0.1


def _on_collection(phase: str, info: dict[str, int]) -> None:
    """Give the interpreter an opportunity to switch threads, and freeze survivors before they are too many to be visited."""
    if phase == "stop" and info["generation"] == 1 and len(gc.get_objects(generation=2)) > RECENT_MAX:
        gc.freeze()


def limit_collections() -> None:
    """Freeze existing objects, and leave the old generation to ``OldGeneration``."""
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, _MIDDLE_MAX, _OLD_MAX)
    if _on_collection not in gc.callbacks:
        gc.callbacks.append(_on_collection)
    gc.enable()


class Heap(Protocol):
    """Interface to the objects of a process."""

    @property
    def blocks(self) -> int:
        """Return the number of memory blocks in use, by garbage too."""

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has used."""

    def collect_recent(self) -> None:
        """Collect what is not frozen, and freeze the rest of it."""

    def collect_whole(self) -> None:
        """Collect everything, and freeze the rest."""


class _ProcessHeap:
    """Heap of this process."""

    @property
    def blocks(self) -> int:
        return sys.getallocatedblocks()

    @property
    def cpu_seconds(self) -> float:
        return time.process_time()

    def collect_recent(self) -> None:
        gc.collect()
        gc.freeze()

    def collect_whole(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()


#: Heap of this process.
PROCESS_HEAP: Final[Heap] = _ProcessHeap()


class OldGeneration:
    """Collects garbage that survived the younger generations, when no large request is in flight."""

    def __init__(self, clock: Clock, *, is_busy: Callable[[], bool], heap: Heap = PROCESS_HEAP) -> None:
        self._clock: Final = clock
        self._is_busy: Final = is_busy
        self._heap: Final = heap
        #: Fewest blocks in use since the last whole collection.
        self._blocks_min = heap.blocks
        self._whole_at = clock.monotonic()

    async def run(self) -> None:
        """Collect until cancelled."""
        skipped = 0
        while True:
            used_seconds = self._heap.cpu_seconds
            await self._clock.sleep(COLLECT_SECONDS)
            if self._is_busy() and skipped < BUSY_MAX:
                skipped += 1
                continue
            skipped = 0
            self._collect(is_idle=self._heap.cpu_seconds - used_seconds < IDLE_SHARE * COLLECT_SECONDS)

    def _collect(self, *, is_idle: bool) -> None:
        heap = self._heap
        heap.collect_recent()
        now = self._clock.monotonic()
        blocks = heap.blocks
        self._blocks_min = min(self._blocks_min, blocks)
        has_grown = blocks - self._blocks_min > max(self._blocks_min // GROWTH_DIVISOR, GROWTH_BLOCKS_MIN)
        if has_grown or now - self._whole_at >= (IDLE_WHOLE_SECONDS if is_idle else WHOLE_SECONDS):
            heap.collect_whole()
            self._whole_at = now
            self._blocks_min = heap.blocks
