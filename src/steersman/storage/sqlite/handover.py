"""Makes a busy event loop hand the interpreter lock to the threads of the store in time.

CPython's rule: a thread that waits for the lock asks for it after the switch interval (5 ms), and the interval starts
anew whenever the lock was free for a moment. A busy loop frees it for a moment at every system call, too shortly for
another core to wake up and take it. With more than one such call per interval the thread may wait for seconds, and
with it whoever reads (measured, with writes: ``docs/decisions/0001``). An interval shorter than the time between two
system calls cures that; it costs nothing while no thread waits, and is set only while the store has one at work.
"""

from __future__ import annotations

import sys
import threading

#: Below the time that a request takes on the loop, above what a switch costs.
INTERVAL_SECONDS = 50e-6


class Handover:
    """Counts the threads at work; the interval is the process's, so there is one for all stores."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at_work = 0
        self._before_seconds = 0.0

    def begin(self) -> None:
        """A thread is given work."""
        with self._lock:
            self._at_work += 1
            if self._at_work == 1:
                self._before_seconds = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before_seconds, INTERVAL_SECONDS))

    def end(self) -> None:
        """It is done. The last one puts back what the process had."""
        with self._lock:
            self._at_work -= 1
            if self._at_work == 0:
                sys.setswitchinterval(self._before_seconds)


HANDOVER = Handover()
