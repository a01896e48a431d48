"""The writer thread: takes every write that waits, persists them as one batch, reports back to the loop.

The interpreter lock decides its speed: after every SQLite call the thread must win the lock back from a busy event
loop, which may take as long as the switch interval. So a batch is one statement wherever possible, and the thread
does nothing in Python that the loop could not do cheaper.
"""

# ruff: noqa: S608 — SQL is put together from the constants of this module only

from __future__ import annotations

import contextlib
import itertools
import queue
import sqlite3
import threading
from typing import TYPE_CHECKING, Literal

from steersman.storage.sqlite.schema import POSITION_BITS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.storage.sqlite.index import Row, Write

#: Rows of one statement; a batch of more takes several. The sizes are few so that SQLite compiles few statements.
_STATEMENT_ROWS = (2, 4, 8, 12, 16, 24, 32, 48, 64)
_STATEMENT_ROWS_MAX = _STATEMENT_ROWS[-1]
_STATEMENTS = {n: "INSERT INTO change VALUES " + ",".join(["(?,?,?,?,?,?)"] * n) for n in _STATEMENT_ROWS}
_PADDING: Row = (int(Kind.PADDING), 0, "", 0, 0, None)
_REACHED = int(Kind.REACHED)
#: Writes that share a commit at most; more wait for the next, so that no answer waits for a huge batch.
BATCH_WRITES_MAX = 256
#: History rows forgotten at once: some ten pages, about as long as a batch of writes takes.
_FORGET_ROWS = 200
_FORGET = "DELETE FROM history WHERE id IN (SELECT id FROM history WHERE id < ? ORDER BY id LIMIT ?)"


class Writer:
    """Owns the writing connection. ``put`` is for the event loop; ``settled`` is called in the thread."""

    def __init__(
        self, connection: sqlite3.Connection, *, name: str, settled: Callable[[list[Write], Exception | None], None]
    ) -> None:
        self._connection = connection
        self._settled = settled
        #: Bounded by the callers: each waits for its write.
        self._queue: queue.SimpleQueue[Write | Literal["wake", "stop"]] = queue.SimpleQueue()
        #: Writes of another epoch are dropped: the loop has refused them, or will when it hears of the failure.
        self._epoch = 0
        #: History rows below this id may go; written by the loop, read by the thread.
        self._forget_below = 0
        self._forgotten_below = 0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, write: Write) -> None:
        self._queue.put(write)

    def forget(self, revision: int) -> None:
        """Have the history up to ``revision`` deleted, piece by piece between batches."""
        self._forget_below = max(self._forget_below, (revision + 1) << POSITION_BITS)
        self._queue.put("wake")

    def stop(self) -> None:
        """Persist what was put before, close the connection, end. Blocks."""
        self._queue.put("stop")
        self._thread.join()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            writes, stopping = self._next_batch()
            if writes:
                self._persist(writes)
            if self._forgotten_below < self._forget_below and not stopping:
                self._forget_some()
        self._connection.close()

    def _next_batch(self) -> tuple[list[Write], bool]:
        """What waits now; sleeps until something does, unless there is history to forget meanwhile."""
        writes: list[Write] = []
        with contextlib.suppress(queue.Empty):
            item = self._queue.get(block=self._forgotten_below >= self._forget_below)
            while item != "stop":
                if item != "wake" and item.epoch == self._epoch:
                    writes.append(item)
                if len(writes) == BATCH_WRITES_MAX:
                    return writes, False
                item = self._queue.get_nowait()
            return writes, True
        return writes, False

    def _persist(self, writes: list[Write]) -> None:
        try:
            self._commit(writes)
        except Exception as error:  # noqa: BLE001 — whatever it is, those who wait must hear of it
            self._roll_back()
            if not self._is_on_disk(writes):
                self._epoch += 1
                self._settled(writes, error)
                return
        self._settled(writes, None)

    def _commit(self, writes: list[Write]) -> None:
        rows = [row for write in writes for row in write.rows]
        if rows:
            rows.append((_REACHED, rows[-1][1], "", 0, 0, None))
        statements = [statement for write in writes for statement in write.statements]
        if not statements and len(rows) <= _STATEMENT_ROWS_MAX:
            self._insert(rows)
            return
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        for first in range(0, len(rows), _STATEMENT_ROWS_MAX):
            self._insert(rows[first : first + _STATEMENT_ROWS_MAX])
        for sql, parameters in statements:
            execute(sql, parameters)
        execute("COMMIT")

    def _insert(self, rows: Sequence[Row]) -> None:
        count = next(n for n in _STATEMENT_ROWS if n >= len(rows))
        padded = itertools.chain(rows, itertools.repeat(_PADDING, count - len(rows)))
        self._connection.execute(_STATEMENTS[count], tuple(itertools.chain.from_iterable(padded)))

    def _roll_back(self) -> None:
        # Some errors have rolled back already; when the disk is gone, nothing of the batch is on it either.
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _is_on_disk(self, writes: list[Write]) -> bool:
        """Whether the commit happened although it reported an error."""
        revision = max(write.revision for write in writes)
        with contextlib.suppress(sqlite3.Error):
            reached: int = self._connection.execute("SELECT revision FROM mark WHERE name = 'reached'").fetchone()[0]
            return 0 < revision <= reached
        return False

    def _forget_some(self) -> None:
        target = self._forget_below
        try:
            deleted = self._connection.execute(_FORGET, (target, _FORGET_ROWS)).rowcount
        except sqlite3.Error:
            # The disk is full, say. Asked again with the next compaction; what stays is only space.
            self._roll_back()
            self._forgotten_below = target
            return
        if deleted < _FORGET_ROWS:
            self._forgotten_below = target
