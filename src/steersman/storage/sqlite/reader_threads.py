"""Threads for large reads, and the event loop's share of the interpreter lock (GIL) for them.

A thread waiting for the GIL requests it after the switch interval, and the interval restarts whenever the GIL was free.
A busy loop frees it at every system call, too briefly for another core to take it, so a reader may wait for it for up
to seconds each time. So while a read is under way, the loop waits for up to half a millisecond in each of its turns,
which leaves the GIL to the readers. That needs no switch interval of the process (``docs/decisions/0001``).

A read that makes no progress waits for the disk: the loop rarely waits for it then, and never longer.
"""

from __future__ import annotations

import asyncio
import queue
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.storage.sqlite.reader import Reader

T = TypeVar("T")

#: Concurrent reads; further ones wait for a thread.
READ_THREADS: Final = 2
#: Bound of one wait of the loop.
LEND_SECONDS: Final = 0.0005
#: Waits without progress after which the loop waits only once in a while.
FRUITLESS_MAX: Final = 100
_FRUITLESS_PAUSE_SECONDS: Final = 0.01


class ReaderThreads:
    """Reading connections and the threads that use them. All methods but ``close`` run on the event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(READ_THREADS, thread_name_prefix="store reader")
        self._readers: list[Reader] = []
        #: Readers not used by a thread.
        self._idle: queue.SimpleQueue[Reader] = queue.SimpleQueue()
        #: Reads that wait for a thread or are under way.
        self._running = 0
        #: A signal of each read that has ended.
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_lending = False
        #: Pages read when the last progress was seen, and waits of the loop since.
        self._pages = 0
        self._fruitless = 0

    def add(self, reader: Reader) -> None:
        """Add a reader; called while the store is opened, from any thread."""
        self._readers.append(reader)
        self._idle.put(reader)

    async def run(self, work: Callable[[Reader], T]) -> T:
        """Return what ``work`` returns in a thread. Raises what it raises."""
        loop = asyncio.get_running_loop()
        self._running += 1
        if not self._is_lending:
            self._is_lending = True
            loop.call_soon(self._lend, loop)
        try:
            return await loop.run_in_executor(self._threads, self._work, work)
        finally:
            self._running -= 1

    def _work(self, work: Callable[[Reader], T]) -> T:
        reader = self._idle.get()
        try:
            return work(reader)
        finally:
            self._idle.put(reader)
            self._ended.put(None)

    def _lend(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave the interpreter lock to the readers for a moment, once in each turn of the loop."""
        if not self._running:
            self._is_lending = False
            return
        if self._has_progress():
            self._fruitless = 0
        else:
            self._fruitless += 1
        if self._fruitless > FRUITLESS_MAX:
            loop.call_later(_FRUITLESS_PAUSE_SECONDS, self._lend, loop)
        else:
            loop.call_soon(self._lend, loop)

    def _has_progress(self) -> bool:
        """Wait for a moment; report whether a page was read or a read has ended since the last wait."""
        try:
            self._ended.get(timeout=LEND_SECONDS)
        except queue.Empty:
            before, self._pages = self._pages, sum(reader.pages_read for reader in self._readers)
            return self._pages != before
        return True

    def close(self) -> None:
        """Wait for running reads and close the connections. Blocks."""
        self._threads.shutdown(wait=True)
        for reader in self._readers:
            reader.close()
