"""Batches of writes: code of both implementations of the writer, and program of the writer process.

A message is a frame of writes (epoch, rows, statements, and the revision and fingerprint they lead to), an integer, the
row id below which history may be deleted, or ``None``, the end. Waiting writes form one batch and one commit. Its
result is the number of its frames and the text of an error; an empty text means durable. After an error, writes of that
epoch are dropped without a result: each may depend on a failed one.

The program is run by path, so this module imports only the standard library and its neighbour ``ack_record``, to start
quickly. Standard input is a socket, standard output a pipe. Each incoming message is a length of four bytes and
``marshal`` data; an empty one requests to close the file and exit. At the end of the stream without one, the process
exits at once: the next opener finds every acknowledged write in the log. A result is the number of frames, the length
and the text.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import sqlite3
import sys
import time

if __name__ == "__main__":  # the writer process, which cannot import the package
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 — pathlib takes 5 ms to import
    from ack_record import RESERVED_STEP, Acknowledger, row_checksum  # type: ignore[import-not-found]
else:
    from steersman.storage.sqlite.ack_record import RESERVED_STEP, Acknowledger, row_checksum

TYPE_CHECKING = False  # as in ``typing``, which takes a while to import
if TYPE_CHECKING:
    from typing import Any, Protocol

    #: A frame, a row id, or the end.
    Message = tuple[Any, ...] | int | None

    class Inbox(Protocol):
        """Channel of messages to ``serve`` and of its results."""

        def receive(self) -> Message:
            """Return the next message; blocks until it arrives."""

        def is_waiting(self, *, seconds: float = 0) -> bool:
            """Report whether a message is available or arrives within ``seconds``."""

        def answer(self, frames: int, error: str) -> None:
            """Report the result of this many frames."""


#: Bound for locks held by external tools; the store's own connections never wait for one.
_BUSY_SECONDS = 5.0
#: Pages (32 MiB) of the log that trigger a checkpoint. Rare, because the batch that runs it is slow. The log keeps its
#: size, so that later commits overwrite it in place, which makes their fsync cheaper than one that extends the file.
_CHECKPOINT_PAGES = 8000
#: Idle time before maintenance; the acknowledgement record is flushed at least that often.
_UPKEEP_SECONDS = 2.0
#: Free pages (16 MiB), at least half of the file, that trigger a VACUUM, unless the rest is larger than 256 MiB: writes
#: wait for its end.
_FREE_PAGES_MIN = 4096
_LIVE_PAGES_MAX = 65536
#: History rows deleted per step: some ten pages, about as long as a batch of writes takes.
_FORGET_ROWS = 200
_FORGET = "DELETE FROM history WHERE id IN (SELECT id FROM history WHERE id < ? ORDER BY id LIMIT ?)"

#: Maximum number of rows per commit, before the last frame, to bound the latency.
_BATCH_ROWS = 256
#: Low bits of row ids, see ``schema``.
POSITION_BITS = 16
#: Revision of the file: that of the newest row, or the mark if the newest write left no row, or its row was deleted.
REACHED = f"""
SELECT max(
  (SELECT max(revision) FROM mark),
  coalesce((SELECT max(id) FROM latest), 0) >> {POSITION_BITS},
  coalesce((SELECT max(id) FROM history), 0) >> {POSITION_BITS}
)
"""  # noqa: S608 — constants only

LENGTH_BYTES = 4
_FRAMES = 0
_ANSWERS = 1


def connect(path: str) -> sqlite3.Connection:
    """Open a connection for durable writes to a file in WAL mode. Raises ``sqlite3.Error``."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}").fetchall()
    # Secure deletion would write every freed page again.
    connection.execute("PRAGMA secure_delete=OFF").fetchall()
    return connection


class Batches:
    """Writes to the tables."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._connection = connection
        self._path = path
        #: History rows below this id are to be deleted; 0: none.
        self._forget_below = 0
        #: True if history was deleted since free pages were last counted.
        self._may_shrink = False
        #: Opened with the first batch: the session starts concurrently with this process.
        self._acks: Acknowledger | None = None
        self._reserved_revision = 0
        self._synced_at = time.monotonic()

    def persist(
        self,
        rows: list[tuple[object, ...]],
        statements: list[tuple[str, tuple[object, ...]]],
        *,
        revision: int,
        fingerprint: int = 0,
    ) -> str:
        """Commit a batch that leads to ``revision`` (0: no rows); return the error, "" when it is durable."""
        acks = self._acks
        try:
            acks = self._acknowledger()
            if revision:
                acks.begin(revision, fingerprint)
            self._commit([_checked(row) for row in rows], statements, revision=revision)
        except Exception as error:  # noqa: BLE001 — every error must be reported to the waiting callers
            self._roll_back()
            if acks is None or not 0 < revision <= self._reached():
                return self._reason(error)
        try:
            acks.acknowledge(revision)
        except OSError as error:  # the commit is durable, and its record contains its start
            sys.stderr.write(f"steersman: cannot write the acknowledgement record of {self._path}: {error}\n")
        return ""

    def close(self) -> None:
        """Close the connection, then the record's files. A connection that the process closes last removes the log."""
        self._connection.close()
        if self._acks is not None:
            self._acks.close()
            self._acks = None

    def close_session(self) -> bool:
        """Mark file and record as complete; return whether the connection may be closed, which removes the log."""
        try:
            acks = self._acknowledger()
            self._connection.execute(
                "UPDATE session SET is_closed = 1, fingerprint = ? WHERE NOT is_closed", (acks.record.fingerprint,)
            )
            acks.close_session()
        except (sqlite3.Error, OSError, ValueError):
            return False
        return True

    @property
    def has_upkeep(self) -> bool:
        """Report whether maintenance is due."""
        return self.is_dirty or self._may_shrink

    def upkeep(self) -> None:
        """Flush the acknowledgement record; free unused pages if there are many."""
        if self._may_shrink:
            self._may_shrink = False
            self._shrink()
        self.sync()

    def _shrink(self) -> None:
        """Rebuild the file without its free pages. They are reused otherwise, so a failure only costs space."""
        try:
            free = self._connection.execute("PRAGMA freelist_count").fetchone()[0]
            live = self._connection.execute("PRAGMA page_count").fetchone()[0] - free
            if free < max(_FREE_PAGES_MIN, live) or live > _LIVE_PAGES_MAX:
                return
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._acknowledger().acknowledge(0)
        except (sqlite3.Error, OSError, ValueError):
            self._roll_back()

    def sync_when_due(self) -> None:
        """Flush the acknowledgement record if the last flush is old."""
        if self.is_dirty and time.monotonic() - self._synced_at >= _UPKEEP_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Flush the acknowledgement record."""
        self._synced_at = time.monotonic()
        if self._acks is not None:
            try:
                self._acks.sync()
            except OSError:
                self._acks.is_dirty = False  # retried after the next commit

    @property
    def is_dirty(self) -> bool:
        """Report whether the acknowledgement record was written since its last flush."""
        return self._acks is not None and self._acks.is_dirty

    def _acknowledger(self) -> Acknowledger:
        if self._acks is None:
            row = self._connection.execute("SELECT reserved_revision FROM session").fetchone()
            acks = Acknowledger(self._path)
            if acks.record.revision != self._reached():
                # The parent is dead, this connection was the first to open the file, and SQLite recovered a commit that
                # the parent had refused when the previous writer process died. No commit may follow it unverified.
                raise ValueError(f"{self._path} is not at the revision that was acknowledged")
            self._acks = acks
            self._reserved_revision = row[0]
        return self._acks

    def _reason(self, error: Exception) -> str:
        """Return the error text, with the directory and its free space if space may be the cause."""
        text = str(error) or type(error).__name__
        if not isinstance(error, sqlite3.OperationalError | OSError):
            return text
        folder = os.path.dirname(os.path.abspath(self._path))  # noqa: PTH100, PTH120 — as above
        try:
            space = os.statvfs(folder)
        except OSError:
            return f"{text} (in {folder})"
        return f"{text} (in {folder}, where {space.f_bavail * space.f_frsize >> 10} KiB are free)"

    def forget(self, below: int) -> None:
        """Schedule the deletion of history rows below this id."""
        self._forget_below = max(self._forget_below, below)

    def forget_some(self) -> bool:
        """Delete one step of scheduled history; return whether there is more."""
        if not self._forget_below:
            return False
        try:
            deleted = self._connection.execute(_FORGET, (self._forget_below, _FORGET_ROWS)).rowcount
        except sqlite3.Error:
            # E.g. a full disk. Retried with the next compaction; remaining rows only cost space.
            self._roll_back()
            deleted = 0
        if deleted < _FORGET_ROWS:
            self._forget_below = 0
            self._may_shrink = True
        return deleted == _FORGET_ROWS

    def _commit(
        self, rows: list[tuple[object, ...]], statements: list[tuple[str, tuple[object, ...]]], *, revision: int
    ) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        self._connection.executemany("INSERT INTO change VALUES (?,?,?,?,?,?,?)", rows)
        for sql, parameters in statements:
            execute(sql, parameters)
        reserved = self._reserved_revision
        if revision > reserved - RESERVED_STEP // 2:
            # Reserved long before it is needed: the next checkpoint moves it from the log to the file.
            reserved = revision + RESERVED_STEP
            execute("UPDATE session SET reserved_revision = ?", (reserved,))
        execute("COMMIT")
        self._reserved_revision = reserved

    def _roll_back(self) -> None:
        # Some errors roll back by themselves; if the disk is gone, the batch is not on it either.
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            pass

    def _reached(self) -> int:
        """Return the revision on disk, to detect a commit that succeeded although it reported an error.

        0 when unreadable.
        """
        try:
            reached: int = self._connection.execute(REACHED).fetchone()[0]
        except sqlite3.Error:
            return 0
        return reached


def _checked(row: tuple[object, ...]) -> tuple[object, ...]:
    """Return a row of the view ``change`` with its checksum; 0 for rows without a value."""
    _, row_id, key, create_revision, lease_id, value = row
    if value is None:
        return (*row, 0)
    return (*row, row_checksum(key, row_id >> POSITION_BITS, create_revision, lease_id, value))  # type: ignore[operator]


def serve(inbox: Inbox, batches: Batches) -> None:
    """Process messages until the end."""
    epoch, frames, revision, fingerprint = 0, 0, 0, 0
    rows: list[tuple[object, ...]] = []
    statements: list[tuple[str, tuple[object, ...]]] = []
    while True:
        if batches.has_upkeep and not frames and not inbox.is_waiting(seconds=_UPKEEP_SECONDS):
            batches.upkeep()
        message = inbox.receive()
        if isinstance(message, tuple):
            if message[0] == epoch:
                frames += 1
                rows += message[1]
                statements += message[2]
                if message[3]:
                    revision, fingerprint = message[3:]
            if len(rows) < _BATCH_ROWS and inbox.is_waiting():
                continue
        if frames:
            error = batches.persist(rows, statements, revision=revision, fingerprint=fingerprint)
            epoch += error != ""
            inbox.answer(frames, error)
            batches.sync_when_due()
            rows, statements, frames, revision, fingerprint = [], [], 0, 0, 0
        if message is None:
            return
        if isinstance(message, int):
            batches.forget(message)
        # One step after each batch, and all steps while no message waits.
        while batches.forget_some() and not inbox.is_waiting():
            pass


class Stream:
    """Inbox of the writer process."""

    def __init__(self, frames: int, answers: int) -> None:
        self._frames = frames
        self._answers = answers
        #: The owner requested the end; false when the stream ended without a request.
        self.is_end_requested = False

    def receive(self) -> Message:
        length = self._read(LENGTH_BYTES)
        size = int.from_bytes(length, "little")
        data = self._read(size)
        if len(length) < LENGTH_BYTES or len(data) < size:
            return None
        if not size:
            self.is_end_requested = True
            return None
        message: Message = marshal.loads(data)  # noqa: S302 — from the parent process
        return message

    def is_waiting(self, *, seconds: float = 0) -> bool:
        return bool(select.select([self._frames], [], [], seconds)[0])

    def answer(self, frames: int, error: str) -> None:
        os.write(self._answers, answer(frames, error))

    def _read(self, size: int) -> bytes:
        """Return ``size`` bytes, fewer at the end of the stream."""
        parts: list[bytes] = []
        while size and (part := os.read(self._frames, size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def answer(frames: int, error: str) -> bytes:
    """Return the encoded result of this many frames."""
    text = error.encode(errors="replace")
    return frames.to_bytes(LENGTH_BYTES, "little") + len(text).to_bytes(LENGTH_BYTES, "little") + text


def main(path: str) -> None:
    gc.disable()  # no reference cycles are created here
    connection = connect(path)
    batches, stream = Batches(connection, path), Stream(_FRAMES, _ANSWERS)
    try:
        serve(stream, batches)
        if stream.is_end_requested and batches.close_session():
            connection.close()
    except ConnectionError:
        pass
    os._exit(0)  # no checkpoint and no interpreter shutdown: the file is locked until this process has ended


if __name__ == "__main__":
    main(sys.argv[1])
