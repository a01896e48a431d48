"""Threads for large reads. During a read the event loop releases the GIL in each of its iterations."""

from __future__ import annotations

import asyncio
import queue
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from steersman.storage.sqlite.gil_release import GILRelease

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.storage.sqlite.reader import Reader

T = TypeVar("T")

#: Concurrent reads; further ones wait for a thread.
READ_THREADS: Final = 2


class ReaderThreads:
    """Reading connections and the threads that use them. All methods but ``close`` run on the event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(READ_THREADS, thread_name_prefix="store reader")
        self._readers: list[Reader] = []
        #: Idle readers.
        self._idle: queue.SimpleQueue[Reader] = queue.SimpleQueue()
        #: Number of queued and running reads.
        self._running = 0
        self._gil_release = GILRelease(self._pages_read)
        self._is_releasing_gil = False

    def add(self, reader: Reader) -> None:
        """Add a reader; called while the store is opened, from any thread."""
        self._readers.append(reader)
        self._idle.put(reader)

    async def run(self, work: Callable[[Reader], T]) -> T:
        """Run ``work`` in a thread and return its result. Raises its error."""
        loop = asyncio.get_running_loop()
        self._running += 1
        if not self._is_releasing_gil:
            self._is_releasing_gil = True
            loop.call_soon(self._release_gil, loop)
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
            self._gil_release.notify()

    def _release_gil(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._running:
            loop.call_later(self._gil_release.wait(), self._release_gil, loop)
        else:
            self._is_releasing_gil = False

    def _pages_read(self) -> int:
        return sum(reader.pages_read for reader in self._readers)

    def close(self) -> None:
        """Wait for running reads and close the connections. Blocks."""
        self._threads.shutdown(wait=True)
        for reader in self._readers:
            reader.close()
