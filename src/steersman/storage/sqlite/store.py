"""``SqliteStore``: the ``Store`` protocol on the pipeline and the database file."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING

from steersman.asynckit.clock import RealClock
from steersman.asynckit.tasks import Supervisor
from steersman.storage.dispatch import Dispatcher, Watcher
from steersman.storage.keys import SquashedPrefixes, prefix_end
from steersman.storage.leases import LeaseTable, random_lease_id
from steersman.storage.revision_waiters import RevisionWaiters
from steersman.storage.sqlite.compaction import CHECK_ROWS, Compactor
from steersman.storage.sqlite.files import Contents, Files
from steersman.storage.sqlite.health import WriteHealth
from steersman.storage.sqlite.leasing import Leasing
from steersman.storage.sqlite.pipeline import Pipeline
from steersman.storage.sqlite.process_writer import ProcessWriter
from steersman.storage.sqlite.thread_writer import OpenFile, ThreadWriter
from steersman.storage.sqlite.writer import writer_kind
from steersman.storage.store import (
    Compacted,
    Conflict,
    CorruptValue,
    FutureRevision,
    KeyValue,
    LeaseNotFound,
    Put,
    Range,
    Unavailable,
)
from steersman.storage.transaction import CheckFailedError, changes_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.storage.sqlite.child import Child
    from steersman.storage.sqlite.reader import Reader
    from steersman.storage.sqlite.writer import Settled, Writer, WriterKind
    from steersman.storage.store import Batch, Event, Op, StoreError, Subscription


#: Sorts after every text in SQLite.
_NO_END = b""


class SqliteStore:
    """``Store`` in one SQLite file. Created by ``open``; confined to the event loop that opened it."""

    def __init__(
        self,
        files: Files,
        contents: Contents,
        target: Child | OpenFile,
        *,
        clock: Clock,
        history_retention_seconds: float,
        history_max_bytes: int,
        squash_prefixes: Iterable[str],
        new_lease_id: Callable[[], int],
        disk_clock: Clock,
    ) -> None:
        self._files = files
        self._clock = clock
        self._new_lease_id = new_lease_id
        # Overwrites before this start are unknown, so all earlier revisions count as overwritten.
        self._squashed = SquashedPrefixes(squash_prefixes, compacted=contents.revision)
        self._dispatcher = Dispatcher()
        self._tasks = Supervisor("sqlite store")
        self._waiters = RevisionWaiters(clock)
        self._closing: asyncio.Task[None] | None = None
        self._rows_unchecked = 0
        self._bounding: asyncio.Task[None] | None = None
        self._leases = LeaseTable(clock, on_expired=self._lease_expired)
        self._pipeline = Pipeline(
            functools.partial(start_writer, target, files),
            index=contents.index,
            fingerprint=contents.fingerprint,
            revision=contents.revision,
            leases=self._leases,
            squashed=self._squashed,
            dispatcher=self._dispatcher,
            on_applied=self._applied,
            clock=disk_clock,
        )
        self._health = WriteHealth(files.path, self._pipeline, clock=disk_clock)
        self._leasing = Leasing(self._leases, self._pipeline, self._tasks)
        self._leasing.restore(contents.leases, contents.index.values())
        self._compactor = Compactor(
            self._pipeline,
            files,
            clock=clock,
            compact_revision=contents.compact_revision,
            retention_seconds=history_retention_seconds,
            history_max_bytes=history_max_bytes,
        )
        self._tasks.start("upkeep", self._maintain(min(60.0, max(1.0, history_retention_seconds / 16))))

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
        disk_clock: Clock | None = None,
        writer: WriterKind | None = None,
    ) -> SqliteStore:
        """Open or create the file; its folder must exist.

        ``history_retention_seconds`` bounds the age of readable history, ``history_max_bytes`` its size.
        ``squash_prefixes``: see the package; each ends in ``/``. ``disk_clock`` measures the latency of the
        disk: real time, even if ``clock`` is a fake. ``writer`` selects the implementation of the writer; None for that of
        ``writer_kind``.

        Raises ``StoreLocked``, ``NotAStore``, ``SchemaTooNew``, ``CorruptStore``, ``StoreNotWritable``.
        """
        opening = asyncio.ensure_future(asyncio.to_thread(Files.open, Path(path), writer or writer_kind()))
        try:
            files, contents, target = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_abandon)
            raise
        try:
            return cls(
                files,
                contents,
                target,
                clock=clock,
                history_retention_seconds=history_retention_seconds,
                history_max_bytes=history_max_bytes,
                squash_prefixes=squash_prefixes,
                new_lease_id=new_lease_id,
                disk_clock=disk_clock or RealClock(),
            )
        except BaseException:
            await asyncio.to_thread(_close, files, target)
            raise

    @property
    def revision(self) -> int:
        return self._pipeline.revision

    async def current_revision(self) -> int:
        self._check_open()
        return self._pipeline.revision

    @property
    def is_shared(self) -> bool:
        return False

    async def reached(self, revision: int, *, seconds: float) -> bool:
        if revision > self._pipeline.revision:
            await self._waiters.wait(revision, seconds=seconds)
        return revision <= self._pipeline.revision

    # Reading.

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        self._check_readable(key, revision)
        if revision:
            kv = self._files.read(lambda reader: reader.get_at(key, revision=revision))
            self._check_readable(key, revision)
            return kv
        kv = self._files.read(lambda reader: reader.get(key))
        if kv is None:
            await self._pipeline.settled()  # the removal may be durable but not applied yet
            return self._recheck_absent(key)
        if kv.mod_revision > self._pipeline.revision:
            await self._pipeline.applied(kv.mod_revision)
        return kv

    def _recheck_absent(self, key: str) -> KeyValue | None:
        """Read a key again that was absent on disk; a key in the index must not be returned as absent."""
        kv = self._files.read(lambda reader: reader.get(key))
        entry = self._pipeline.index.get(key)
        if kv is None and entry is not None and entry.mod_revision <= self._pipeline.revision:
            raise CorruptValue([key])
        return kv

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> Range:
        self._check_readable(prefix, revision)
        low = max(prefix, start_after + "\0") if start_after else prefix
        try:
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
        except CorruptValue as error:
            await self._after_range(prefix, revision, error.readable.revision if error.readable else 0)
            raise
        await self._after_range(prefix, revision, snapshot.revision)
        more = snapshot.count > len(snapshot.kvs)
        return Range(snapshot.kvs, max(snapshot.revision, revision), more=more, count=snapshot.count)

    async def _after_range(self, prefix: str, revision: int, revision_on_disk: int) -> None:
        if revision:
            self._check_readable(prefix, revision)  # compaction may have run during the read
        else:
            await self._pipeline.applied(revision_on_disk)

    async def check_writable(self) -> None:
        self._check_open()
        await self._health.check()

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
            except CheckFailedError as unmet:
                await self._raise_conflict(unmet.key)
                continue
            for op in changes:
                if type(op) is Put and op.lease_id and op.lease_id not in self._leases:
                    raise LeaseNotFound(f"lease {op.lease_id} does not exist")
            if changes:
                return await self._pipeline.accept(changes)
            await self._pipeline.settled()
            return self._pipeline.revision

    async def _raise_conflict(self, key: str) -> None:
        """Raise ``Conflict`` once the conflicting write is durable; return if that write was refused."""
        refusals = self._pipeline.refusals
        await self._pipeline.settled()
        if self._pipeline.refusals == refusals:
            raise Conflict(key, await self.get(key))

    # Watching.

    async def watch(
        self, prefix: str, sink: Callable[[Batch], None], *, after_revision: int, on_lost: Callable[[StoreError], None]
    ) -> Subscription:
        """Deliver history in steps that yield to the event loop, then the last step and live events without a gap."""
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
            if after < self._compactor.compact_revision:
                raise Compacted(after, self._compactor.compact_revision)
            events, reached = self._files.read(self._catch_up(prefix, after=after, upto=upto))
            watcher.send(events, revision=reached)
            if reached < upto:
                await self._clock.sleep(0)
        return watcher

    def _catch_up(self, prefix: str, *, after: int, upto: int) -> Callable[[Reader], tuple[list[Event], int]]:
        index, squashed = self._pipeline.index, self._squashed.prefixes
        return lambda reader: reader.catch_up(prefix, after=after, upto=upto, squashed=squashed, index=index)

    # History and leases.

    @property
    def compact_revision(self) -> int:
        return self._compactor.compact_revision

    async def compact(self, revision: int) -> None:
        self._check_open()
        if revision > self._pipeline.revision:
            raise FutureRevision(revision, self._pipeline.revision)
        await self._compactor.compact(revision)

    async def grant_lease(self, ttl_seconds: int, *, lease_id: int = 0) -> int:
        self._check_open()
        lease_id = lease_id or self._new_lease_id()
        await self._leasing.grant(lease_id, ttl_seconds=ttl_seconds)
        return lease_id

    async def keep_alive(self, lease_id: int) -> None:
        self._check_open()
        await self._leasing.keep_alive(lease_id)

    async def revoke_lease(self, lease_id: int) -> None:
        self._check_open()
        await self._leasing.end(lease_id)

    # Upkeep.

    def _lease_expired(self, lease_id: int) -> None:
        self._leasing.expired(lease_id)

    def _applied(self, rows: int) -> None:
        self._waiters.resolve(self._pipeline.revision)
        self._rows_unchecked += rows
        if self._rows_unchecked >= CHECK_ROWS and self._bounding is None and self._closing is None:
            self._rows_unchecked = 0
            self._bounding = self._tasks.start("bound the history", self._compactor.keep_bounds())
            self._bounding.add_done_callback(self._bounded)

    def _bounded(self, _task: asyncio.Task[None]) -> None:
        self._bounding = None

    async def _maintain(self, interval_seconds: float) -> None:
        while True:
            await self._clock.sleep(interval_seconds)
            await self._compactor.keep_bounds()
            await self._leasing.checkpoint()

    # Closing.

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._leases.close()
        self._waiters.resolve_all()
        with contextlib.suppress(Unavailable):
            await self._pipeline.settled()
        await self._tasks.close()
        await self._leasing.checkpoint(at_least_seconds=1.0)
        self._pipeline.close()
        self._dispatcher.close(_closed())
        self._pipeline.writer.detach()
        await asyncio.to_thread(self._close_files)

    def _close_files(self) -> None:
        _close(self._files, self._pipeline.writer)

    # Checks.

    def _check_open(self) -> None:
        if self._closing is not None:
            raise _closed()

    def _check_readable(self, prefix: str, revision: int) -> None:
        self._check_open()
        if revision > self._pipeline.revision:
            raise FutureRevision(revision, self._pipeline.revision)
        if revision:
            oldest = max(self._compactor.compact_revision, self._squashed.compact_revision(prefix))
            if revision < oldest:
                raise Compacted(revision, oldest)


def _closed() -> Unavailable:
    return Unavailable("the store is closed")


def start_writer(target: Child | OpenFile, files: Files, settled: Settled) -> Writer:
    """Return the writer of open files on the running event loop; ``target`` selects the implementation."""
    if isinstance(target, OpenFile):
        return ThreadWriter(target, settled, reached=files.reached)
    return ProcessWriter(target, settled, start=files.start_process, reached=files.reached)


def _close(files: Files, writer: Writer | Child | OpenFile) -> None:
    files.close_readers()
    writer.end()
    files.release()


def _abandon(opening: asyncio.Future[tuple[Files, Contents, Child | OpenFile]]) -> None:
    """Close a store whose opener was cancelled."""
    if not opening.cancelled() and opening.exception() is None:
        files, _, target = opening.result()
        opening.get_loop().run_in_executor(None, _close, files, target)
