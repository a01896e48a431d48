"""Free memory of the C allocator, returned to the operating system.

glibc keeps freed blocks for later: after a burst of large requests, or when many watches end, the resident memory of a
process stays where it was at its peak. ``malloc_trim`` returns whole free pages.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock

CHECK_SECONDS: Final = 30.0
#: Growth since the last trim that causes another one.
GROWTH_BYTES: Final = 16 << 20
#: Checks after which memory is trimmed without growth, as memory in use at the last trim may be free now.
CHECKS_MAX: Final = 2
#: Checks without a pause of large requests after which memory is trimmed nevertheless.
BUSY_MAX: Final = 4
_STATM: Final = Path("/proc/self/statm")


class MemoryTrimmer:
    """Trims the process's memory when it has grown, and periodically.

    A trim locks the allocator and so delays the event loop; none starts while a large request is in flight.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        resident_bytes: Callable[[], int],
        trim: Callable[[], object],
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._clock: Final = clock
        self._is_busy: Final = is_busy
        self._resident_bytes: Final = resident_bytes
        self._trim: Final = trim
        self._checks = 0
        self._baseline_bytes = resident_bytes()

    async def run(self) -> None:
        """Check until cancelled. A trim takes up to tenths of a second of a worker thread."""
        while True:
            await self._clock.sleep(CHECK_SECONDS)
            self._checks += 1
            has_grown = self._resident_bytes() >= self._baseline_bytes + GROWTH_BYTES
            if self._is_busy() and self._checks < BUSY_MAX:
                continue
            if has_grown or self._checks >= CHECKS_MAX:
                await asyncio.to_thread(self._trim)
                self._checks = 0
                self._baseline_bytes = self._resident_bytes()


def process_trimmer(clock: Clock, *, is_busy: Callable[[], bool] = lambda: False) -> MemoryTrimmer | None:
    """Return a trimmer of this process; None without glibc's ``malloc_trim``, or without ``/proc``."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None or not _STATM.exists():
        return None
    return MemoryTrimmer(clock, resident_bytes=_resident_bytes, trim=lambda: trim(0), is_busy=is_busy)


def _resident_bytes() -> int:
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
