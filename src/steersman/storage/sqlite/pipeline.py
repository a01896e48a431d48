"""Write pipeline on the event loop: accept, persist, apply.

Accepting cannot fail: it assigns the revision, updates the index, and queues the rows. So the next transaction is evaluated on
the state including writes in flight, without waiting for the disk. Writes accepted in one
pass of the event loop go to the writer together; they are collected while the writer has no room. Applying notifies the
watchers and then the callers, in revision order. When a write cannot be persisted, everything accepted since the last
applied revision is rolled back: each of those writes may depend on a failed one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from steersman.storage.sqlite.ack_record import COUNT_BITS, FINGERPRINT_MASK
from steersman.storage.sqlite.batches import POSITION_BITS
from steersman.storage.sqlite.index import Entry, Write, roll_back
from steersman.storage.sqlite.schema import POSITIONS_MAX, Kind
from steersman.storage.sqlite.stalls import STALL_SECONDS, StallDetector
from steersman.storage.store import Event, Put, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.storage.dispatch import Dispatcher
    from steersman.storage.keys import SquashedPrefixes
    from steersman.storage.leases import LeaseTable
    from steersman.storage.sqlite.index import Index, Row
    from steersman.storage.sqlite.writer import Settled, Statement, Writer
    from steersman.storage.store import Delete

_log = logging.getLogger(__name__)

# Plain integers: marshal and sqlite3 do not accept enum members.
_REACHED, _CREATED, _REPLACED, _OVERWRITTEN, _REMOVED = map(
    int, (Kind.REACHED, Kind.CREATED, Kind.REPLACED, Kind.OVERWRITTEN, Kind.REMOVED)
)
#: Bounds of one batch: writes, and bytes of values. (A single write may be larger.)
BATCH_WRITES_MAX = 256
BATCH_BYTES_MAX = 8 << 20


class Pipeline:
    """Owner of the index, the revision counter and the writer."""

    def __init__(
        self,
        start_writer: Callable[[Settled], Writer],
        *,
        index: Index,
        fingerprint: int,
        revision: int,
        leases: LeaseTable,
        squashed: SquashedPrefixes,
        dispatcher: Dispatcher,
        on_applied: Callable[[int], None],
        clock: Clock,
    ) -> None:
        self.index = index
        #: Fingerprint of the index (``ack_record.fingerprint_of``).
        self._fingerprint = fingerprint
        #: Newest revision that is durable and was delivered to the watchers.
        self.revision = revision
        #: Newest revision assigned to a write. Never decreases, even if the write fails.
        self._assigned = revision
        self._leases = leases
        self._squashed = squashed
        self._dispatcher = dispatcher
        #: Called with the number of rows after each batch.
        self._on_applied = on_applied
        self._loop = asyncio.get_running_loop()
        #: Writes sent to the writer, in order, and accepted writes that wait, oldest first; bounded by the
        #: callers, each of which waits for its own.
        self._in_flight: deque[list[Write]] = deque()
        self._gathered: list[Write] = []
        #: Number of failures, each of which rolled back all writes in flight.
        self.refusals = 0
        #: Numbers of accepted and settled writes, and callers waiting for a number of settled writes.
        self._accepted = 0
        self._settled = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._stalls = StallDetector(clock, has_work=self._has_work, on_stall=self._refuse_waiters)
        self.writer = start_writer(self._settle)

    @property
    def is_stalled(self) -> bool:
        """True if the writer makes no progress; writes are then refused."""
        return self._stalls.is_stalled

    def close(self) -> None:
        """Stop stall detection."""
        self._stalls.close()

    def _has_work(self) -> bool:
        return bool(self._in_flight or self._gathered)

    def accept(
        self,
        changes: Sequence[Put | Delete],
        statements: Sequence[Statement] = (),
        *,
        on_settled: Callable[[bool], None] | None = None,
    ) -> asyncio.Future[int]:
        """Queue ``changes``, whose expectations hold, and ``statements`` as one commit.

        The future completes with the last revision when the commit is durable and applied, with ``Unavailable`` if it was not
        persisted. ``on_settled`` is called just before with True if it was persisted, even if the future was cancelled.
        """
        if len(changes) > POSITIONS_MAX:
            raise ValueError(f"a transaction writes {POSITIONS_MAX} keys at most")
        if self._stalls.is_stalled:
            return self._refused_at_once(on_settled)
        self._stalls.started()
        revision = self._assigned
        self._assigned += len(changes)
        write = Write(
            self._loop.create_future(),
            revision=self._assigned if changes else 0,
            statements=statements,
            on_settled=on_settled,
        )
        write.fingerprint_before = self._fingerprint
        for op in changes:
            revision += 1
            row_id = revision << POSITION_BITS
            before = self.index.get(op.key)
            write.undo.append((op.key, before))
            if type(op) is Put:
                write.rows.append(self._put(op, before, row_id=row_id, revision=revision))
                write.size_bytes += len(op.value)
            elif before is not None:
                write.rows.append(self._remove(before, row_id=row_id))
        self._fingerprint &= FINGERPRINT_MASK
        write.fingerprint = self._fingerprint
        self._accepted += 1
        if not self._gathered:
            # Deferred, so that concurrent requests share a commit.
            self._loop.call_soon(self._hand_over)
        self._gathered.append(write)
        return write.done

    def _refused_at_once(self, on_settled: Callable[[bool], None] | None) -> asyncio.Future[int]:
        refused: asyncio.Future[int] = self._loop.create_future()
        if on_settled is not None:
            on_settled(False)
        refused.set_exception(Unavailable("the store does not persist writes at the moment: its disk or process hangs"))
        return refused

    def _refuse_waiters(self) -> None:
        """Fail the waiting callers. Their writes stay in flight and happen if the writer continues."""
        writes = [write for batch in (*self._in_flight, self._gathered) for write in batch]
        error = f"the write was not durable within {STALL_SECONDS:g} s, and may happen later: the disk or the writer process hangs"
        _log.error("%d writes: %s", len(writes), error)
        for write in writes:
            if not write.done.done():
                write.done.set_exception(Unavailable(error))
        while self._waiting:
            woken = self._waiting.popleft()[1]
            if not woken.done():
                woken.set_exception(Unavailable(error))

    def _hand_over(self) -> None:
        """Pass queued writes to the writer while it has room; it calls back when it has room again."""
        while self._gathered and self.writer.has_room:
            self._persist(self._next_batch())

    def _persist(self, batch: list[Write]) -> None:
        rows: list[Row] = []
        statements: list[Statement] = []
        for write in batch:
            rows += write.rows
            statements += write.statements
        revision = rows[-1][1] >> POSITION_BITS if rows else 0
        if rows and rows[-1][0] == _OVERWRITTEN:
            rows.append((_REACHED, rows[-1][1], "", 0, 0, None))
        try:
            self.writer.persist(rows, statements, revision=revision, fingerprint=batch[-1].fingerprint)
        except (ValueError, OverflowError) as error:
            refused, self._gathered = batch + self._gathered, []
            self._refuse(refused, str(error))
        else:
            self._in_flight.append(batch)

    def _next_batch(self) -> list[Write]:
        size_bytes = 0
        for count, write in enumerate(self._gathered):
            size_bytes += write.size_bytes
            if count == BATCH_WRITES_MAX or (count and size_bytes > BATCH_BYTES_MAX):
                batch = self._gathered[:count]
                del self._gathered[:count]
                return batch
        batch, self._gathered = self._gathered, []
        return batch

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
        if before is not None:
            self._fingerprint += (revision - before.mod_revision) << COUNT_BITS
        else:
            self._fingerprint += (revision << COUNT_BITS) + 1
        self.index[key] = Entry(key, revision, create_revision, op.lease_id)
        return (kind, row_id, key, create_revision, op.lease_id, op.value)

    def _remove(self, before: Entry, *, row_id: int) -> Row:
        if before.lease_id:
            self._leases.move(before.key, before=before.lease_id, after=0)
        self._fingerprint -= (before.mod_revision << COUNT_BITS) + 1
        del self.index[before.key]
        return (_REMOVED, row_id, before.key, before.create_revision, 0, None)

    async def settled(self) -> None:
        """Wait until every accepted write is durable and applied, or refused."""
        if self._in_flight or self._gathered:
            woken: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append((self._accepted, woken))
            await woken

    async def applied(self, revision: int) -> None:
        """Wait until a revision that was read from disk is applied."""
        while self.revision < revision and (self._in_flight or self._gathered):
            await self.settled()

    # Results of the writer.

    def _settle(self, batches: int, error: str) -> None:
        """Handle results: this many batches are durable; with an error, all other batches failed."""
        self._stalls.progressed()
        if batches:
            self._apply([write for _ in range(batches) for write in self._in_flight.popleft()])
        if error:
            refused = [write for batch in (*self._in_flight, self._gathered) for write in batch]
            self._in_flight.clear()
            self._gathered = []
            self._refuse(refused, error)
        self._hand_over()
        while self._waiting and self._waiting[0][0] <= self._settled:
            woken = self._waiting.popleft()[1]
            if not woken.done():
                woken.set_result(None)

    def _apply(self, writes: list[Write]) -> None:
        events = [
            Event(key, value, create, row_id >> POSITION_BITS)
            for write in writes
            for _, row_id, key, create, _, value in write.rows
        ]
        self._settled += len(writes)
        if events:
            self.revision = events[-1].mod_revision
            self._dispatcher.deliver(events, revision=self.revision)
        for write in writes:
            if write.on_settled is not None:
                write.on_settled(True)
            if not write.done.done():
                write.done.set_result(self.revision if not write.revision else write.revision)
        self._on_applied(len(events))

    def _refuse(self, refused: list[Write], error: str) -> None:
        """Fail the newest writes with ``Unavailable`` and roll back the index."""
        _log.error("%d writes could not be persisted: %s", len(refused), error)
        if refused:
            self._fingerprint = refused[0].fingerprint_before
        for write in reversed(refused):
            roll_back(self.index, write, leases=self._leases)
        self.refusals += 1
        self._settled += len(refused)
        for write in refused:
            if write.on_settled is not None:
                write.on_settled(False)
            if not write.done.done():
                write.done.set_exception(Unavailable(f"the write was not persisted: {error}"))
