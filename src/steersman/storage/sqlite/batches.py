"""Persists batches: the program of the writer process.

It is run by its path, so it imports only what it needs of the standard library: it starts in some 10 ms and takes 11 MB.

The process has one end of a socket as its standard input and of a pipe as its standard output. A frame that comes in is a length in four bytes and so much ``marshal``:
writes (their epoch, rows, statements and the revision they lead to), or an integer, the id below which history may go.
Writes that wait are one batch, and one commit. It is answered with the number of its frames, the length and the text of
what went wrong; no text says that it is durable. After that went wrong, writes of that epoch are dropped without an answer:
each may build on those that failed. An empty frame asks to close the file and end. When the other end goes away without
one, the process ends as it is: whoever opens the file next finds all that was answered.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import sqlite3
import sys

#: A reader of a foreign tool may hold a lock for a moment; nobody of ours ever waits for one.
_BUSY_SECONDS = 5.0
#: The log is copied into the file when it reaches so many pages (32 MiB). Rarely, because the batch that does it takes
#: ten times as long as others. The log keeps its size, so that later commits overwrite it in place, which makes their
#: fsync cheaper than one that grows a file.
_CHECKPOINT_PAGES = 8000
#: History rows forgotten at once: some ten pages, about as long as a batch of writes takes.
_FORGET_ROWS = 200
_FORGET = "DELETE FROM history WHERE id IN (SELECT id FROM history WHERE id < ? ORDER BY id LIMIT ?)"

#: Rows that share a commit, before those of the last frame; more wait for the next, so that no answer waits for a huge batch.
_BATCH_ROWS = 256
#: Rows are numbered by the writes that made them, each of which has so many numbers: ``schema``.
POSITION_BITS = 16
#: The revision that the file is at: the newest row tells it, or the mark where the newest write left none, or all are forgotten.
REACHED = f"""
SELECT max(
  (SELECT max(revision) FROM mark),
  coalesce((SELECT max(id) FROM latest), 0) >> {POSITION_BITS},
  coalesce((SELECT max(id) FROM history), 0) >> {POSITION_BITS}
)
"""  # noqa: S608 — nothing foreign is in it

LENGTH_BYTES = 4
_FRAMES = 0
_ANSWERS = 1


def connect(path: str) -> sqlite3.Connection:
    """A connection that writes durably, once the file is in WAL mode. Raises ``sqlite3.Error``."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}").fetchall()
    # Wiping what was deleted would write every freed page again.
    connection.execute("PRAGMA secure_delete=OFF").fetchall()
    return connection


class Batches:
    """The tables as the one that writes them sees them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        #: History rows below this id may go; 0 when all such are gone.
        self._forget_below = 0

    def persist(
        self, rows: list[tuple[object, ...]], statements: list[tuple[str, tuple[object, ...]]], *, revision: int
    ) -> str:
        """Commit a batch that leads to ``revision`` (0: it has no rows). Returns what went wrong, "" when it is durable."""
        try:
            self._commit(rows, statements)
        except Exception as error:  # noqa: BLE001 — whatever it is, those who wait must hear of it
            self._roll_back()
            if not 0 < revision <= self._reached():
                return str(error) or type(error).__name__
        return ""

    def forget(self, below: int) -> None:
        """Have ``forget_some`` delete the history rows below this id."""
        self._forget_below = max(self._forget_below, below)

    def forget_some(self) -> bool:
        """Delete a piece of what may go; whether there is more."""
        if not self._forget_below:
            return False
        try:
            deleted = self._connection.execute(_FORGET, (self._forget_below, _FORGET_ROWS)).rowcount
        except sqlite3.Error:
            # The disk is full, say. Asked again with the next compaction; what stays is only space.
            self._roll_back()
            deleted = 0
        if deleted < _FORGET_ROWS:
            self._forget_below = 0
        return deleted == _FORGET_ROWS

    def _commit(self, rows: list[tuple[object, ...]], statements: list[tuple[str, tuple[object, ...]]]) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        self._connection.executemany("INSERT INTO change VALUES (?,?,?,?,?,?)", rows)
        for sql, parameters in statements:
            execute(sql, parameters)
        execute("COMMIT")

    def _roll_back(self) -> None:
        # Some errors have rolled back already; when the disk is gone, nothing of the batch is on it either.
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            pass

    def _reached(self) -> int:
        """The revision that is on disk, to tell a commit that happened although it reported an error; 0 when unreadable."""
        try:
            reached: int = self._connection.execute(REACHED).fetchone()[0]
        except sqlite3.Error:
            return 0
        return reached


def serve(fd: int, batches: Batches, *, answers: int) -> bool:
    """Do what comes in at ``fd`` until an empty frame (True) or the end of the stream (False); answer at ``answers``."""
    epoch, frames, revision = 0, 0, 0
    rows: list[tuple[object, ...]] = []
    statements: list[tuple[str, tuple[object, ...]]] = []
    while True:
        frame = _receive(fd)
        message = marshal.loads(frame) if frame else None  # noqa: S302 — from the process that started this one
        if isinstance(message, tuple):
            if message[0] == epoch:
                frames += 1
                rows += message[1]
                statements += message[2]
                revision = max(revision, message[3])
            if len(rows) < _BATCH_ROWS and _waits(fd):
                continue
        if frames:
            error = batches.persist(rows, statements, revision=revision)
            epoch += error != ""
            os.write(answers, answer(frames, error))
            rows, statements, frames, revision = [], [], 0, 0
        if not frame:
            return frame is not None
        if isinstance(message, int):
            batches.forget(message)
        # A piece after each batch, and all pieces while nothing waits.
        while batches.forget_some() and not _waits(fd):
            pass


def answer(frames: int, error: str) -> bytes:
    """What became of the writes of so many frames."""
    text = error.encode(errors="replace")
    return frames.to_bytes(LENGTH_BYTES, "little") + len(text).to_bytes(LENGTH_BYTES, "little") + text


def _waits(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0)[0])


def _receive(fd: int) -> bytes | None:
    """One frame, None at the end of the stream."""
    length = _read(fd, LENGTH_BYTES)
    size = int.from_bytes(length, "little")
    frame = _read(fd, size)
    return None if len(length) < LENGTH_BYTES or len(frame) < size else frame


def _read(fd: int, size: int) -> bytes:
    """So many bytes, less at the end of the stream."""
    parts: list[bytes] = []
    while size and (part := os.read(fd, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main(path: str) -> None:
    gc.disable()  # nothing here makes circles
    connection = connect(path)
    try:
        if serve(_FRAMES, Batches(connection), answers=_ANSWERS):
            connection.close()
    except ConnectionError:
        pass
    os._exit(0)  # neither a checkpoint nor a tidy end of the interpreter: the file is locked until this process is gone


if __name__ == "__main__":
    main(sys.argv[1])
