"""Open resources of a store: lock, connections, reader threads and the writer's connection or process."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, TypeVar

import msgspec

from steersman.storage.sqlite.ack_record import AckFile, WalIndex
from steersman.storage.sqlite.child import Child
from steersman.storage.sqlite.database import (
    UNKNOWN_JUMP,
    begin_session,
    connect_reader,
    connect_writer,
    open_error,
    prepare,
)
from steersman.storage.sqlite.errors import CorruptStore, StoreNotWritable
from steersman.storage.sqlite.index import Index  # noqa: TC001 — msgspec reads the fields' types
from steersman.storage.sqlite.lock import FileLock
from steersman.storage.sqlite.reader import Reader
from steersman.storage.sqlite.reader_threads import READ_THREADS, ReaderThreads
from steersman.storage.sqlite.schema import REVISION_MAX
from steersman.storage.sqlite.thread_writer import OpenFile
from steersman.storage.sqlite.verification import check_structure, read_session, verify_start
from steersman.storage.store import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from steersman.storage.sqlite.verification import Session, Verdict
    from steersman.storage.sqlite.writer import WriterKind

T = TypeVar("T")


class Contents(msgspec.Struct, frozen=True):
    """Contents of a file at opening."""

    index: Index
    #: Fingerprint of all rows (``ack_record.fingerprint_of``).
    fingerprint: int
    revision: int
    compact_revision: int
    #: Id, TTL and remaining time, in seconds.
    leases: list[tuple[int, int, float]]


class Files:
    """One open store file. ``open`` and ``close`` block, so they run in a thread."""

    def __init__(self, path: Path, lock: FileLock, first: Reader, wal_index: WalIndex) -> None:
        self.path = path
        #: Connection for small reads on the event loop.
        self.inline = first
        self._lock = lock
        #: Must be closed after the connections, see ``WalIndex``.
        self._wal_index = wal_index
        self._threads = ReaderThreads()

    @classmethod
    def open(cls, path: Path, writer: WriterKind) -> tuple[Files, Contents, Child | OpenFile]:
        """Open the file, and start the writer process or open the writer's connection. Raises the classes of ``errors``."""
        with ExitStack() as undo:
            lock = FileLock.take(path)
            undo.callback(lock.release)
            try:
                prepare(path)
                connection = connect_reader(path)
                first = Reader(connection)
                undo.callback(first.close)
                session = read_session(connection)
                wal_index = WalIndex(str(path))
                # Called after ``first.close``, because callbacks run in reverse order.
                files = cls(path, lock, first, wal_index)
                undo.pop_all()
                undo.callback(files.release)
                undo.callback(files.close_readers)
                child = files.start_first_process() if writer == "process" else None
                if child is not None:  # the process starts while the file is loaded
                    undo.callback(child.reap)
                contents = files._begin(session, verify_start(path, session, wal_index.position()), connection)
                target = child or OpenFile(path)
            except sqlite3.Error as error:
                raise open_error(path, error) from error
            except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as damage:
                raise CorruptStore(path, str(damage)) from damage
            except OSError as refusal:
                raise StoreNotWritable(path, refusal.strerror or str(refusal)) from refusal
            undo.pop_all()
            return files, contents, target

    def start_first_process(self) -> Child:
        """Start the writer process. Raises ``StoreNotWritable``."""
        try:
            return self.start_process()
        except OSError as error:
            raise StoreNotWritable(self.path, f"no process to write it: {error.strerror or error}") from error

    def _begin(self, session: Session, verdict: Verdict, connection: sqlite3.Connection) -> Contents:
        """Check and load the file, then mark it as open."""
        if verdict.needs_check:
            check_structure(connection, self.path)
        index, fingerprint = self.inline.load()
        if verdict.fingerprint is not None and verdict.fingerprint != fingerprint:
            raise CorruptStore(self.path, "rows are missing, or older than they were")
        revision = session.revision if not verdict.jump_from else verdict.jump_from + UNKNOWN_JUMP
        if revision > REVISION_MAX:
            raise CorruptStore(self.path, f"revision {revision} is out of range")
        # Closed after the other readers have opened the file: the last connection to close removes its log.
        with closing(connect_writer(self.path)) as writer:
            begin_session(
                writer,
                self.path,
                self._wal_index,
                revision=revision,
                fingerprint=fingerprint,
                drop_history=verdict.drops_history or bool(verdict.jump_from),
            )
            for _ in range(READ_THREADS):
                self._threads.add(Reader(connect_reader(self.path)))
            revision, compact_revision = self.inline.marks()
        return Contents(index, fingerprint, revision, compact_revision, self.inline.leases())

    def start_process(self) -> Child:
        """Start a writer process. Raises ``OSError``."""
        return Child.start(self.path, self._lock.descriptor)

    def read(self, work: Callable[[Reader], T]) -> T:
        """Read on the event loop, for reads that take microseconds."""
        try:
            return work(self.inline)
        except sqlite3.Error as error:
            raise Unavailable(f"{self.path}: {error}") from error

    async def read_in_thread(self, work: Callable[[Reader], T]) -> T:
        """Read in a thread, for larger reads."""
        try:
            return await self._threads.run(work)
        except sqlite3.Error as error:
            raise Unavailable(f"{self.path}: {error}") from error

    def reached(self, fingerprints: Mapping[int, int]) -> int:
        """Return and acknowledge the revision on disk after the writer process died; 0 when it cannot be read.

        ``fingerprints`` are those of the revisions in flight.
        """
        try:
            revision = self.inline.marks()[0]
            file = AckFile(str(self.path))
            try:
                record = file.read()
                if record is not None and revision > record.revision and revision in fingerprints:
                    record.revision, record.fingerprint = revision, fingerprints[revision]
                    record.wal = self._wal_index.position()
                    file.write(record)
            finally:
                file.close()
        except (sqlite3.Error, OSError):
            return 0
        return revision

    def size_bytes(self) -> int:
        """Return the size of the file and its log."""
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def close_readers(self) -> None:
        """Wait for running reads and close their connections.

        Call it before the writer closes the last connection, which removes the log.
        """
        self._threads.close()
        self.inline.close()

    def release(self) -> None:
        """Release the lock of the file, after the writer has closed it."""
        self._wal_index.close()
        self._lock.release()
