"""``SqliteStore``: the protocol's methods over the pipeline and the file."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from steersman.asynckit.tasks import Supervisor
from steersman.storage.dispatch import Dispatcher, Watcher
from steersman.storage.keys import SquashedPrefixes, prefix_end
from steersman.storage.leases import LeaseTable, random_lease_id
from steersman.storage.retention import Retention
from steersman.storage.sqlite.files import Contents, Files
from steersman.storage.sqlite.pipeline import Pipeline
from steersman.storage.sqlite.schema import POSITIONS_MAX
from steersman.storage.store import (
    Compacted,
    Conflict,
    Delete,
    FutureRevision,
    KeyValue,
    LeaseNotFound,
    Put,
    Range,
    Unavailable,
)
from steersman.storage.transaction import UnmetError, changes_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.storage.sqlite.pipeline import Statement
    from steersman.storage.sqlite.reader import Reader
    from steersman.storage.store import Batch, Event, Op, StoreError, Subscription

_log = logging.getLogger(__name__)

#: Sorts after every text in SQLite.
_NO_END = b""
#: The history's size is looked at after so many writes.
_SIZE_CHECK_ROWS = 2000
#: A lease's remaining time is written again when it is so much less than the disk says ...
_LEASE_CHECKPOINT_SECONDS = 60.0
#: ... for so many leases at a time.
_LEASE_CHECKPOINTS_MAX = 256
_LEASE_RETRY_SECONDS = 1.0


class SqliteStore:
    """A ``Store`` in one SQLite file. Made by ``open``; belongs to the loop that it was opened on."""

    def __init__(
        self,
        files: Files,
        contents: Contents,
        *,
        clock: Clock,
        history_retention_seconds: float,
        history_max_bytes: int,
        squash_prefixes: Iterable[str],
        new_lease_id: Callable[[], int],
    ) -> None:
        self._files = files
        self._clock = clock
        self._history_max_bytes = history_max_bytes
        self._retention_seconds = history_retention_seconds
        self._retention = Retention(
            retention_seconds=history_retention_seconds, now=clock.monotonic(), revision=contents.revision
        )
        self._compact_revision = contents.compact_revision
        # What was overwritten before this start is not known any more: all of it, then.
        self._squashed = SquashedPrefixes(squash_prefixes, compacted=contents.revision)
        self._dispatcher = Dispatcher()
        self._new_lease_id = new_lease_id
        self._tasks = Supervisor("sqlite store")
        self._leases = LeaseTable(clock, on_expired=self._lease_expired)
        self._restore_leases(contents)
        self._pipeline = Pipeline(
            files.writer,
            index=contents.index,
            revision=contents.revision,
            leases=self._leases,
            squashed=self._squashed,
            dispatcher=self._dispatcher,
            on_applied=self._applied,
        )
        self._rows_unchecked = 0
        self._size_check: asyncio.Task[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        if self._compact_revision:
            self._pipeline.writer.forget(self._compact_revision)
        self._tasks.start("maintenance", self._maintain())

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        *,
        clock: Clock,
        history_retention_seconds: float = 300.0,
        history_max_bytes: int = 256 << 20,
        squash_prefixes: Iterable[str] = (),
        new_lease_id: Callable[[], int] = random_lease_id,
    ) -> SqliteStore:
        """Open or make the file; its folder must exist.

        ``history_retention_seconds`` is how long the past stays readable, unless it outgrows ``history_max_bytes``.
        ``squash_prefixes`` are described in the package's docstring; each ends in ``/``.

        Raises ``StoreLocked``, ``NotAStore``, ``SchemaTooNew``, ``CorruptStore``, ``StoreNotWritable``.
        """
        files, contents = await asyncio.to_thread(Files.open, Path(path))
        return cls(
            files,
            contents,
            clock=clock,
            history_retention_seconds=history_retention_seconds,
            history_max_bytes=history_max_bytes,
            squash_prefixes=squash_prefixes,
            new_lease_id=new_lease_id,
        )

    @property
    def revision(self) -> int:
        return self._pipeline.revision

    @property
    def compact_revision(self) -> int:
        return self._compact_revision

    async def current_revision(self) -> int:
        self._check_open()
        return self._pipeline.revision

    # Reading.

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        self._check_readable(key, revision)
        if revision:
            kv = self._files.read(lambda reader: reader.get_at(key, revision=revision))
            self._check_readable(key, revision)
            return kv
        kv = self._files.read(lambda reader: reader.get(key))
        if kv is None:
            await self._pipeline.settled()  # its removal may be on disk and not applied yet
        elif kv.mod_revision > self._pipeline.revision:
            await self._pipeline.applied(kv.mod_revision)
        return kv

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> Range:
        self._check_readable(prefix, revision)
        low = max(prefix, start_after + "\0") if start_after else prefix
        snapshot = await self._files.read_in_thread(
            lambda reader: reader.range(
                low,
                high=prefix_end(prefix) or _NO_END,
                index=self._pipeline.index,
                limit=limit,
                revision=revision,
                keys_only=keys_only,
            )
        )
        if revision:
            self._check_readable(prefix, revision)  # it may have been compacted under the read
        else:
            await self._pipeline.applied(snapshot.revision)
        more = snapshot.count > len(snapshot.kvs)
        return Range(snapshot.kvs, max(snapshot.revision, revision), more=more, count=snapshot.count)

    async def size_bytes(self) -> int:
        self._check_open()
        return self._files.size_bytes()

    # Writing.

    async def txn(self, ops: Sequence[Op]) -> int:
        while True:
            if self._closing is not None:
                raise _closed()
            try:
                changes = changes_of(ops, self._pipeline.index)
            except UnmetError as unmet:
                await self._raise_conflict(unmet.key, ops)
                continue
            for op in changes:
                if type(op) is Put and op.lease_id and op.lease_id not in self._leases:
                    raise LeaseNotFound(f"lease {op.lease_id} does not exist")
            if changes:
                return await self._pipeline.accept(changes)
            await self._pipeline.settled()
            return self._pipeline.revision

    async def _raise_conflict(self, key: str, ops: Sequence[Op]) -> None:
        """Raise ``Conflict`` if it is one on disk, too; return when the write in the way was not kept."""
        await self._pipeline.settled()
        try:
            changes_of(ops, self._pipeline.index)
        except UnmetError as unmet:
            raise Conflict(unmet.key, await self.get(unmet.key)) from None

    # Watching.

    async def watch(
        self, prefix: str, sink: Callable[[Batch], None], *, after_revision: int, on_lost: Callable[[StoreError], None]
    ) -> Subscription:
        """The past is read in pieces between which the loop goes on; then, in one go, the last piece and live."""
        if not prefix.endswith("/"):
            raise ValueError("a watched prefix must end in '/'")
        self._check_open()
        watcher = Watcher(self._dispatcher, prefix, sink=sink, after_revision=after_revision, on_lost=on_lost)
        while not watcher.closed:
            self._check_open()
            after, upto = watcher.seen_revision, self._pipeline.revision
            if after >= upto:
                self._dispatcher.add(watcher)
                break
            if after < self._compact_revision:
                raise Compacted(after, self._compact_revision)
            events, reached = self._files.read(self._catch_up(prefix, after=after, upto=upto))
            watcher.send(events, revision=reached)
            if reached < upto:
                await self._clock.sleep(0)
        return watcher

    def _catch_up(self, prefix: str, *, after: int, upto: int) -> Callable[[Reader], tuple[list[Event], int]]:
        index, squashed = self._pipeline.index, self._squashed.prefixes
        return lambda reader: reader.catch_up(prefix, after=after, upto=upto, squashed=squashed, index=index)

    # Compaction.

    async def compact(self, revision: int) -> None:
        self._check_open()
        if revision > self._pipeline.revision:
            raise FutureRevision(revision, self._pipeline.revision)
        await self._compact_to(revision)

    async def _compact_to(self, revision: int) -> None:
        """What is forgotten is first marked so, durably, then deleted in pieces behind everybody's back."""
        if revision <= self._compact_revision:
            return
        self._compact_revision = revision
        await self._pipeline.accept((), [("UPDATE mark SET revision = ? WHERE name = 'compacted'", (revision,))])
        self._pipeline.writer.forget(revision)

    def _applied(self, rows: int) -> None:
        self._rows_unchecked += rows
        if self._rows_unchecked >= _SIZE_CHECK_ROWS and self._size_check is None and self._closing is None:
            self._size_check = self._tasks.start("bound the history", self._bound_history())

    async def _bound_history(self) -> None:
        """Compact by age and by size."""
        self._rows_unchecked = 0
        try:
            revision = self._retention.expired(now=self._clock.monotonic(), revision=self._pipeline.revision)
            if self._files.read(lambda reader: reader.history_bytes()) > self._history_max_bytes:
                excess = await self._files.read_in_thread(
                    lambda reader: reader.excess_revision(bytes_max=self._history_max_bytes)
                )
                revision = max(revision, excess)
            await self._compact_to(revision)
        except Unavailable as error:
            _log.warning("history was not compacted, will be tried again: %s", error)
        finally:
            self._size_check = None

    async def _maintain(self) -> None:
        while True:
            await self._clock.sleep(min(60.0, max(1.0, self._retention_seconds / 16)))
            await self._bound_history()
            await self._checkpoint_leases(at_least_seconds=_LEASE_CHECKPOINT_SECONDS)

    # Leases.

    async def grant_lease(self, ttl_seconds: int, *, lease_id: int = 0) -> int:
        self._check_open()
        lease_id = lease_id or self._new_lease_id()
        self._leases.check_new(lease_id, ttl_seconds=ttl_seconds)
        statement: Statement = ("INSERT INTO lease VALUES (?, ?, ?)", (lease_id, ttl_seconds, ttl_seconds))
        await self._pipeline.accept((), [statement])
        self._leases.add(lease_id, ttl_seconds=ttl_seconds, remaining_seconds=ttl_seconds)
        return lease_id

    async def keep_alive(self, lease_id: int) -> None:
        self._check_open()
        lease = self._leases.renew(lease_id)
        if lease.persisted_seconds < lease.ttl_seconds:
            await self._pipeline.accept((), [_remaining(lease_id, lease.ttl_seconds)])
            lease.persisted_seconds = lease.ttl_seconds

    async def revoke_lease(self, lease_id: int) -> None:
        self._check_open()
        await self._end_lease(lease_id)

    async def _end_lease(self, lease_id: int) -> None:
        lease = self._leases.get(lease_id)
        lease.ending = True
        keys = sorted(lease.keys)
        last = (len(keys) - 1) // POSITIONS_MAX * POSITIONS_MAX if keys else 0
        ending = [
            self._pipeline.accept([Delete(key) for key in keys[first : first + POSITIONS_MAX]])
            for first in range(0, last, POSITIONS_MAX)
        ]
        ending.append(
            self._pipeline.accept(
                [Delete(key) for key in keys[last:]], [("DELETE FROM lease WHERE id = ?", (lease_id,))]
            )
        )
        try:
            await asyncio.gather(*ending)
        except Unavailable:
            self._leases.retry(lease_id, seconds=_LEASE_RETRY_SECONDS)
            raise
        self._leases.remove(lease_id)

    def _lease_expired(self, lease_id: int) -> None:
        if self._closing is None:
            self._tasks.start(f"end of lease {lease_id}", self._end_expired(lease_id))

    async def _end_expired(self, lease_id: int) -> None:
        try:
            await self._end_lease(lease_id)
        except Unavailable as error:
            _log.warning("lease %d was not ended, will be tried again: %s", lease_id, error)

    def _restore_leases(self, contents: Contents) -> None:
        for lease_id, ttl_seconds, remaining_seconds in contents.leases:
            self._leases.add(lease_id, ttl_seconds=ttl_seconds, remaining_seconds=remaining_seconds)
        for entry in contents.index.values():
            if entry.lease_id:
                self._leases.move(entry.key, before=0, after=entry.lease_id)

    async def _checkpoint_leases(self, *, at_least_seconds: float) -> None:
        """Write down what is left of leases that nobody renewed, so that a restart does not start them anew."""
        statements: list[Statement] = []
        for lease in self._leases:
            remaining = self._leases.remaining_seconds(lease)
            if lease.persisted_seconds - remaining >= at_least_seconds and len(statements) < _LEASE_CHECKPOINTS_MAX:
                lease.persisted_seconds = remaining
                statements.append(_remaining(lease.lease_id, remaining))
        if statements:
            try:
                await self._pipeline.accept((), statements)
            except Unavailable as error:
                _log.warning("leases were not written down: %s", error)

    # Closing.

    async def close(self) -> None:
        if self._closing is not None:
            await asyncio.shield(self._closing)
            return
        self._closing = asyncio.get_running_loop().create_future()
        await self._tasks.close()
        self._leases.close()
        await self._pipeline.settled()
        await self._checkpoint_leases(at_least_seconds=1.0)
        self._dispatcher.close(_closed())
        await asyncio.to_thread(self._close_files)
        self._closing.set_result(None)

    def _close_files(self) -> None:
        self._files.close_readers()
        self._pipeline.writer.stop()
        self._files.release()

    # Checks.

    def _check_open(self) -> None:
        if self._closing is not None:
            raise _closed()

    def _check_readable(self, prefix: str, revision: int) -> None:
        self._check_open()
        if revision > self._pipeline.revision:
            raise FutureRevision(revision, self._pipeline.revision)
        if revision:
            oldest = max(self._compact_revision, self._squashed.compact_revision(prefix))
            if revision < oldest:
                raise Compacted(revision, oldest)


def _closed() -> Unavailable:
    return Unavailable("the store is closed")


def _remaining(lease_id: int, seconds: float) -> Statement:
    return ("UPDATE lease SET remaining_seconds = ? WHERE id = ?", (seconds, lease_id))
