"""Cyclic garbage collection that does not block the event loop.

A collection of all generations visits every container and holds the interpreter lock meanwhile. Requests hardly create
reference cycles, so full collections run between them, and only young objects are collected automatically.

The hook of a collection is Python code, in which the interpreter switches threads. In CPython 3.11 calls of C
functions, decoders included, collect while they allocate; compiled modules hardly let the event loop run otherwise.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock

#: New containers until the youngest generation is collected, which takes up to a millisecond.
YOUNG_MAX: Final = 10_000
#: Collections of the youngest generation until the middle one is collected, which takes up to 15 ms.
_MIDDLE_MAX: Final = 10
#: Collections of the middle generation until all are collected: never.
_OLD_MAX: Final = 1 << 30

COLLECT_SECONDS: Final = 10.0
#: Intervals without a pause of large requests after which all generations are collected nevertheless.
BUSY_MAX: Final = 6


def _switch(phase: str, info: dict[str, int]) -> None:
    """Give the interpreter an opportunity to switch threads."""


def limit_collections() -> None:
    """Freeze existing objects, and leave the old generation to ``OldGeneration``."""
    gc.freeze()
    gc.set_threshold(YOUNG_MAX, _MIDDLE_MAX, _OLD_MAX)
    if _switch not in gc.callbacks:
        gc.callbacks.append(_switch)
    gc.enable()


class OldGeneration:
    """Collects all generations periodically, when no large request is in flight."""

    def __init__(
        self, clock: Clock, *, is_busy: Callable[[], bool], collect: Callable[[], object] = gc.collect
    ) -> None:
        self._clock: Final = clock
        self._is_busy: Final = is_busy
        self._collect: Final = collect
        self._skipped = 0

    async def run(self) -> None:
        """Collect until cancelled."""
        while True:
            await self._clock.sleep(COLLECT_SECONDS)
            if self._is_busy() and self._skipped < BUSY_MAX:
                self._skipped += 1
                continue
            self._skipped = 0
            self._collect()
