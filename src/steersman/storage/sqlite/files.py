"""What the store holds open: the lock, the connections, the threads that read, the process that writes."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

import msgspec

from steersman.storage.sqlite.child import Child
from steersman.storage.sqlite.database import connect_reader, connect_writer, open_error
from steersman.storage.sqlite.errors import StoreNotWritable
from steersman.storage.sqlite.handover import HANDOVER
from steersman.storage.sqlite.index import Index  # noqa: TC001 — msgspec reads the fields' types
from steersman.storage.sqlite.lock import FileLock
from steersman.storage.sqlite.reader import Reader
from steersman.storage.store import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")

#: Large reads at a time; more wait for a thread.
_READ_THREADS = 2


class Contents(msgspec.Struct, frozen=True):
    """What a file held when it was opened."""

    index: Index
    revision: int
    compact_revision: int
    #: Id, whole time, remaining time; in seconds.
    leases: list[tuple[int, int, float]]


class Files:
    """One open store file. ``open`` and ``close`` block, so they run in a thread."""

    def __init__(self, path: Path, lock: FileLock, readers: list[Reader]) -> None:
        self.path = path
        #: For small reads on the loop.
        self.inline = readers[0]
        self._lock = lock
        self._readers = readers
        #: Connections that no thread uses at the moment.
        self._idle: SimpleQueue[Reader] = SimpleQueue()
        for reader in readers[1:]:
            self._idle.put(reader)
        self._threads = ThreadPoolExecutor(_READ_THREADS, thread_name_prefix="store reader")

    @classmethod
    def open(cls, path: Path) -> tuple[Files, Contents, Child]:
        """Also starts the process that writes. Raises the classes of ``errors``."""
        with ExitStack() as undo:
            lock = FileLock.take(path)
            undo.callback(lock.release)
            try:
                # Closed after the readers have looked into the file: the last one to close it would take its log along.
                with closing(connect_writer(path)):
                    files = cls(path, lock, [Reader(connect_reader(path)) for _ in range(_READ_THREADS + 1)])
                    undo.callback(files.close_readers)
                    child = files.start_writer()  # which needs some time, the loading too
                    undo.callback(child.reap)
                    contents = files._load()
            except sqlite3.Error as error:
                raise open_error(path, error) from error
            except OSError as error:
                raise StoreNotWritable(path, f"no process to write it: {error.strerror or error}") from error
            undo.pop_all()
            return files, contents, child

    def start_writer(self) -> Child:
        """Raises ``OSError``."""
        return Child.start(self.path, self._lock.descriptor)

    def _load(self) -> Contents:
        revision, compact_revision = self.inline.marks()
        index = {entry.key: entry for entry in self.inline.entries()}
        return Contents(index, revision, compact_revision, self.inline.leases())

    def read(self, work: Callable[[Reader], T]) -> T:
        """Read on the loop: for what takes microseconds."""
        try:
            return work(self.inline)
        except sqlite3.Error as error:
            raise Unavailable(f"{self.path}: {error}") from error

    async def read_in_thread(self, work: Callable[[Reader], T]) -> T:
        """Read whatever takes longer."""
        HANDOVER.begin()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._read_with_idle, work)
        finally:
            HANDOVER.end()

    def _read_with_idle(self, work: Callable[[Reader], T]) -> T:
        reader = self._idle.get()
        try:
            return work(reader)
        except sqlite3.Error as error:
            raise Unavailable(f"{self.path}: {error}") from error
        finally:
            self._idle.put(reader)

    def reached(self) -> int:
        """The revision on disk; 0 when that cannot be read."""
        try:
            return self.inline.marks()[0]
        except sqlite3.Error:
            return 0

    def size_bytes(self) -> int:
        """The file and its log."""
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def close_readers(self) -> None:
        """Wait for running reads. Before the process that writes, which then leaves a file without a log."""
        self._threads.shutdown(wait=True)
        for reader in self._readers:
            reader.close()

    def release(self) -> None:
        """Let the next process open the file."""
        self._lock.release()
