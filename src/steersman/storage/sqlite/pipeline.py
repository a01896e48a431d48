"""The way of a write, seen from the event loop: accepted, persisted, applied.

Accepting checks nothing and cannot fail: it assigns the revision, moves the index on, and queues the rows. So the
next transaction is decided against what is on its way, and never waits for the disk. Applying tells the watchers and
then the callers, in revision order. When a batch cannot be persisted, everything accepted since the last applied
revision is taken back: each of those writes may have been decided on one that failed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from steersman.storage.sqlite.handover import HANDOVER
from steersman.storage.sqlite.index import Entry, Write
from steersman.storage.sqlite.schema import POSITION_BITS, POSITIONS_MAX, Kind
from steersman.storage.sqlite.writer import Writer
from steersman.storage.store import Event, Put, Unavailable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from steersman.storage.dispatch import Dispatcher
    from steersman.storage.keys import SquashedPrefixes
    from steersman.storage.leases import LeaseTable
    from steersman.storage.sqlite.index import Index, Row
    from steersman.storage.store import Delete

_log = logging.getLogger(__name__)

# Plain integers: SQLite's module is slow at binding anything else.
_CREATED, _REPLACED, _OVERWRITTEN, _REMOVED = map(int, (Kind.CREATED, Kind.REPLACED, Kind.OVERWRITTEN, Kind.REMOVED))
#: An SQL statement and its parameters.
Statement = tuple[str, tuple[object, ...]]


class Pipeline:
    """Owns the index, the revision counter and the writer."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        index: Index,
        revision: int,
        leases: LeaseTable,
        squashed: SquashedPrefixes,
        dispatcher: Dispatcher,
        on_applied: Callable[[int], None],
    ) -> None:
        self.index = index
        #: The newest revision that is on disk and that the watchers have.
        self.revision = revision
        #: The newest revision given to a write. Never goes back, not even when the write failed.
        self._assigned = revision
        self._leases = leases
        self._squashed = squashed
        self._dispatcher = dispatcher
        #: Called with the number of rows after each batch.
        self._on_applied = on_applied
        self._loop = asyncio.get_running_loop()
        #: Accepted and not settled, oldest first; bounded by the callers, each of which waits for its own.
        self._pending: deque[Write] = deque()
        #: The newest of them, which the writer gets when the loop has done what it is about to do now.
        self._gathered: list[Write] = []
        #: How often everything under way had to be refused.
        self.refusals = 0
        #: Writes accepted and settled so far, and who waits for the latter to reach a number.
        self._accepted = 0
        self._settled = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.writer = Writer(connection, name="store writer", settled=self._settled_in_thread)
        self.writer.start()

    @property
    def idle(self) -> bool:
        return not self._pending

    def accept(
        self,
        changes: Sequence[Put | Delete],
        statements: Sequence[Statement] = (),
        *,
        on_settled: Callable[[bool], None] | None = None,
    ) -> asyncio.Future[int]:
        """Queue ``changes``, all of which are known to hold, as one commit, and ``statements`` with them.

        The future gets the last one's revision when all is durable and applied, ``Unavailable`` when it could not be persisted.
        ``on_settled`` is called just before that with whether it was kept, even when nobody waits any more.
        """
        if len(changes) > POSITIONS_MAX:
            raise ValueError(f"a transaction writes {POSITIONS_MAX} keys at most")
        revision = self._assigned
        self._assigned += len(changes)
        write = Write(
            self._loop.create_future(),
            epoch=self.refusals,
            revision=self._assigned if changes else 0,
            statements=statements,
            on_settled=on_settled,
        )
        for op in changes:
            revision += 1
            row_id = revision << POSITION_BITS
            before = self.index.get(op.key)
            write.undo.append((op.key, before))
            if type(op) is Put:
                write.rows.append(self._put(op, before, row_id=row_id, revision=revision))
            elif before is not None:
                write.rows.append(self._remove(before, row_id=row_id))
        if not self._pending:
            HANDOVER.begin()
        self._pending.append(write)
        self._accepted += 1
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(write)
        return write.done

    def _hand_over(self) -> None:
        """Give the writer all that the last turn of the loop has accepted.

        Each by itself would wake the thread for a batch of one, which then fights for the interpreter with the loop
        that makes the next: requests that come together are to share a commit.
        """
        for write in self._gathered:
            self.writer.put(write)
        self._gathered.clear()

    def _put(self, op: Put, before: Entry | None, *, row_id: int, revision: int) -> Row:
        key, create_revision, kind, lease_before = op.key, revision, _CREATED, 0
        if before is not None:
            key, create_revision, kind, lease_before = (
                before.key,
                before.create_revision,
                _REPLACED,
                before.lease_id,
            )
            if self._squashed.matches(key):
                kind = _OVERWRITTEN
                self._squashed.overwritten(key, revision)
        if lease_before != op.lease_id:
            self._leases.move(key, before=lease_before, after=op.lease_id)
        self.index[key] = Entry(key, revision, create_revision, op.lease_id)
        return (kind, row_id, key, create_revision, op.lease_id, op.value)

    def _remove(self, before: Entry, *, row_id: int) -> Row:
        if before.lease_id:
            self._leases.move(before.key, before=before.lease_id, after=0)
        del self.index[before.key]
        return (_REMOVED, row_id, before.key, before.create_revision, 0, None)

    async def settled(self) -> None:
        """Wait until everything accepted so far is durable and applied, or refused."""
        if self._pending:
            woken: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append((self._accepted, woken))
            await woken

    async def applied(self, revision: int) -> None:
        """Wait until a revision that a read found on disk has been applied."""
        while self.revision < revision and self._pending:
            await self.settled()

    # Back from the thread.

    def _settled_in_thread(self, writes: list[Write], error: Exception | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._settle, writes, error)
        except RuntimeError:
            _log.warning("the event loop was closed before the store was: %d writes unanswered", len(writes))

    def _settle(self, writes: list[Write], error: Exception | None) -> None:
        if error is not None:
            self._refuse(error)
        else:
            self._apply(writes)
        while self._waiting and self._waiting[0][0] <= self._settled:
            woken = self._waiting.popleft()[1]
            if not woken.done():
                woken.set_result(None)

    def _apply(self, writes: list[Write]) -> None:
        events: list[Event] = []
        for write in writes:
            self._pending.popleft()
            events += [
                Event(key, value, create, row_id >> POSITION_BITS) for _, row_id, key, create, _, value in write.rows
            ]
        self._settled += len(writes)
        if not self._pending:
            HANDOVER.end()
        if events:
            self.revision = events[-1].mod_revision
            self._dispatcher.deliver(events, revision=self.revision)
        for write in writes:
            if write.on_settled is not None:
                write.on_settled(True)
            if not write.done.done():
                write.done.set_result(self.revision if not write.revision else write.revision)
        self._on_applied(len(events))

    def _refuse(self, error: Exception) -> None:
        """Answer everything under way with ``Unavailable``; the index goes back to what is on disk."""
        _log.error("%d writes could not be persisted: %s", len(self._pending), error)
        refused, self._pending = self._pending, deque()
        for write in reversed(refused):
            self.index.take_back(write, self._leases)
        self.refusals += 1
        self._settled += len(refused)
        HANDOVER.end()
        for write in refused:
            if write.on_settled is not None:
                write.on_settled(False)
            if not write.done.done():
                write.done.set_exception(Unavailable(f"the write was not persisted: {error}"))
