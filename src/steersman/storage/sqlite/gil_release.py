"""Release of the interpreter lock (GIL) by a busy event loop to the store's threads.

A thread waiting for the GIL requests it after the switch interval, and the interval restarts whenever the GIL was free.
A busy loop frees it at every system call, too briefly for another core to take it, so a thread may wait for it for up
to seconds each time. A short wait of the loop leaves the GIL to the threads (``docs/decisions/0001``).
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: Bound of one wait of the loop.
RELEASE_SECONDS: Final = 0.0005
#: Waits without progress, after which the threads rather wait for the disk: the loop waits rarely then, and never longer.
IDLE_WAITS_MAX: Final = 100
_IDLE_PAUSE_SECONDS: Final = 0.01


class GILRelease:
    """Waits of the event loop for threads of a store."""

    def __init__(self, progress: Callable[[], int]) -> None:
        """``progress`` returns a number that changes when a thread makes progress."""
        self._progress = progress
        self._last_progress = progress()
        #: Waits since the last progress.
        self.idle_waits = 0
        #: Held, unless a notification waits. Not a ``SimpleQueue``, whose ``get`` may wait for ever: a time-out that has passed
        #: when it looks again counts as none (CPython, ``Modules/_queuemodule.c``).
        self._signal = threading.Lock()
        self._signal.acquire()

    def notify(self) -> None:
        """End the current or next wait of the loop, because a thread has finished its work. Thread-safe."""
        with contextlib.suppress(RuntimeError):  # a notification is pending already
            self._signal.release()

    def wait(self) -> float:
        """Wait briefly; return the seconds until the next wait, if threads are still busy then."""
        is_notified = self._signal.acquire(timeout=RELEASE_SECONDS)
        before, self._last_progress = self._last_progress, self._progress()
        self.idle_waits = 0 if is_notified or self._last_progress != before else self.idle_waits + 1
        return _IDLE_PAUSE_SECONDS if self.idle_waits > IDLE_WAITS_MAX else 0.0
