"""Hand-over of the interpreter lock (GIL) from a busy event loop to the store's threads.

A thread waiting for the GIL requests it after the switch interval (5 ms), and the interval restarts whenever the GIL
was free. A busy loop frees it briefly at every system call, too briefly for another core to take it. With more than one
system call per interval the thread may wait for seconds (``docs/decisions/0001``). A switch interval shorter than the
time between two system calls prevents that; it has no cost while no thread waits, and is set only while a store thread
works.
"""

from __future__ import annotations

import sys
import threading

#: Shorter than a request on the event loop, longer than a thread switch.
INTERVAL_SECONDS = 50e-6


class Handover:
    """Counter of working threads. The switch interval is global, so one instance serves all stores."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at_work = 0
        self._before_seconds = 0.0

    def begin(self) -> None:
        """Record that a thread starts to work."""
        with self._lock:
            self._at_work += 1
            if self._at_work == 1:
                self._before_seconds = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before_seconds, INTERVAL_SECONDS))

    def end(self) -> None:
        """Record that a thread has finished; the last one restores the switch interval."""
        with self._lock:
            self._at_work -= 1
            if self._at_work == 0:
                sys.setswitchinterval(self._before_seconds)


HANDOVER = Handover()
