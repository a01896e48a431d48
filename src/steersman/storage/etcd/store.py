"""``EtcdStore``: the ``Store`` protocol on an etcd cluster that several processes share.

* A transaction is one etcd transaction; its writes share one revision.
* ``txn`` returns when the watches of this process have received its events, as with the local stores, or after
``event_log.REACH_SECONDS`` if etcd's watch is disturbed; the write is durable in both cases.
* ``current_revision`` is linearizable over all processes. Concurrent callers share one request to etcd, which is sent after
their calls.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from steersman.asynckit.tasks import Supervisor
from steersman.grpc.errors import RpcError
from steersman.storage.dispatch import Dispatcher, Watcher
from steersman.storage.etcd import messages
from steersman.storage.etcd.client import Client
from steersman.storage.etcd.compaction import Compactor
from steersman.storage.etcd.errors import COMPACTED, FUTURE_REVISION, LEASE_EXISTS, store_error, text_of
from steersman.storage.etcd.event_log import EventLog, events_of
from steersman.storage.etcd.keyspace import KeySpace
from steersman.storage.etcd.members import Members, MemberTLS
from steersman.storage.etcd.request_metrics import RequestMetrics
from steersman.storage.leases import LEASE_ID_END, random_lease_id
from steersman.storage.store import (
    Compacted,
    Conflict,
    Delete,
    FutureRevision,
    KeyValue,
    LeaseNotFound,
    Put,
    Range,
    StoreError,
    Unavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from steersman.asynckit.clock import Clock
    from steersman.storage.etcd.messages import RangeResponse, StoredKey
    from steersman.storage.store import Batch, Op, Subscription

#: Page size of a range read without a limit.
_PAGE: Final = 1000
#: Default timeout of ``open``.
OPEN_SECONDS: Final = 20.0
#: Timeout of each response of a watch from the past.
CATCH_UP_SECONDS: Final = 5.0
_OPEN_PAUSE_SECONDS: Final = 0.25


class _Request:
    """Context of requests to etcd: counts them for ``close`` and translates exceptions."""

    __slots__ = ("_store",)

    def __init__(self, store: EtcdStore) -> None:
        self._store = store

    def __enter__(self) -> None:
        self._store._begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store._done()
        if isinstance(error, RpcError):
            raise store_error(error) from error


class EtcdStore:
    """``Store`` on etcd. Created by ``open``; confined to the event loop that opened it."""

    def __init__(
        self,
        client: Client,
        keys: KeySpace,
        *,
        clock: Clock,
        compaction_interval_seconds: float,
        new_lease_id: Callable[[], int],
    ) -> None:
        self._client = client
        self._keys = keys
        self._clock = clock
        self._new_lease_id = new_lease_id
        self._dispatcher = Dispatcher()
        self._tasks = Supervisor("etcd store")
        self._compactor = Compactor(client, clock=clock, interval_seconds=compaction_interval_seconds)
        self._compacts = compaction_interval_seconds > 0
        self._log = EventLog(client, keys, self._dispatcher, clock=clock, on_foreign=self._compactor.note_put)
        #: Requests in flight, which ``close`` waits for.
        self._in_flight = 0
        self._request: Final = _Request(self)
        self.request_metrics: Final = RequestMetrics()
        self._idle: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        #: Callers of ``current_revision`` served by the next request; bounded by the callers.
        self._revision_callers: list[asyncio.Future[int]] = []
        self._is_reading_revision = False

    @classmethod
    async def open(
        cls,
        servers: Sequence[str],
        *,
        clock: Clock,
        root: str = "",
        prefix: str = "",
        tls: MemberTLS | None = None,
        compaction_interval_seconds: float = 300.0,
        new_lease_id: Callable[[], int] = random_lease_id,
        open_seconds: float = OPEN_SECONDS,
    ) -> EtcdStore:
        """Connect to a cluster. Keys under ``root`` of the store lie under ``prefix`` of etcd.

        ``compaction_interval_seconds`` 0 disables compaction by this process. Raises ``ValueError`` for invalid ``servers``,
        ``OSError``
        for unreadable TLS files, ``Unavailable`` when no member answers within ``open_seconds``.
        """
        members = Members(servers, tls=tls or MemberTLS(), clock=clock)
        store = cls(
            Client(members, clock=clock),
            KeySpace(root=root, prefix=prefix),
            clock=clock,
            compaction_interval_seconds=compaction_interval_seconds,
            new_lease_id=new_lease_id,
        )
        try:
            await store._start(open_seconds)
        except BaseException:
            await store.close()
            raise
        return store

    async def _start(self, open_seconds: float) -> None:
        deadline = self._clock.monotonic() + open_seconds
        while True:
            try:
                with self._request:
                    self._log.start_at(await self._client.revision())
                    await self._compactor.read()
                break
            except Unavailable as error:
                if self._clock.monotonic() >= deadline:
                    raise Unavailable(f"cannot reach etcd: {error}") from error
            await self._clock.sleep(_OPEN_PAUSE_SECONDS)
        self._tasks.start("event log", self._log.run())
        if self._compacts:
            self._tasks.start("compaction", self._compactor.run())

    @property
    def revision(self) -> int:
        return self._log.revision

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def compact_revision(self) -> int:
        return self._compactor.compact_revision

    # -- reading -------------------------------------------------------------------------------------------------------

    async def current_revision(self) -> int:
        with self._request:
            answered: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self._revision_callers.append(answered)
            if not self._is_reading_revision:
                self._is_reading_revision = True
                self._tasks.start("current revision", self._read_revision())
            revision = await answered
        if not await self._log.reached(revision):
            raise Unavailable(f"the watch of etcd is at revision {self._log.revision}, etcd at {revision}")
        return revision

    async def reached(self, revision: int, *, seconds: float) -> bool:
        return await self._log.reached(revision, seconds=seconds)

    async def _read_revision(self) -> None:
        """Serve the callers that are waiting when the request is sent; repeat until none is left."""
        try:
            while self._revision_callers:
                callers, self._revision_callers = self._revision_callers, []
                position = self._log.position
                try:
                    header = await self._client.revision()
                    self._log.compare(header, position)
                except (StoreError, RpcError) as error:
                    _fail_all(callers, error)
                else:
                    for caller in callers:
                        if not caller.done():
                            caller.set_result(header.revision)
        finally:
            self._is_reading_revision = False

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        answer = await self._range(self._keys.encode(key), b"", revision=revision)
        return self._kv(answer.kvs[0]) if answer.kvs else None

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> Range:
        low, high = self._keys.range_of(prefix, start_after=start_after)
        if high != b"\0" and low >= high:
            nothing = await self._range(low, b"", revision=revision, keys_only=True)  # checks the revision
            return Range([], nothing.header.revision, more=False, count=0)
        size = limit or _PAGE
        answer = await self._range(low, high, limit=size, revision=revision, keys_only=keys_only)
        kvs, newest = self._kvs(answer), answer.header.revision
        count, more = answer.count, answer.more
        while more and not limit:
            low = answer.kvs[-1].key + b"\0"
            answer = await self._range(low, high, limit=size, revision=revision or newest, keys_only=keys_only)
            kvs += self._kvs(answer)
            more = answer.more
        return Range(kvs, newest, more=more, count=count)

    async def _range(
        self, key: bytes, range_end: bytes, *, limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> RangeResponse:
        with self._request:
            started, position, is_error = self._clock.monotonic(), self._log.position, True
            try:
                answer = await self._client.range(key, range_end, limit=limit, revision=revision, keys_only=keys_only)
                is_error = False
            except RpcError as error:
                refusal = text_of(error)
                if refusal not in (COMPACTED, FUTURE_REVISION):
                    raise
            finally:
                seconds = self._clock.monotonic() - started
                operation = "list" if range_end else "get"
                self.request_metrics.observe(operation, self._keys.decode(key) or "", seconds, is_error=is_error)
            if not is_error:
                self._log.compare(answer.header, position)
                return answer
            if refusal == FUTURE_REVISION:
                raise FutureRevision(revision, (await self._client.revision()).revision)
            if revision >= self.compact_revision:  # compacted by others than API servers
                await self._compactor.search()
            raise Compacted(revision, self.compact_revision)

    def _kv(self, stored: StoredKey) -> KeyValue:
        key = self._keys.decode(stored.key)
        return KeyValue(key or "", stored.value, stored.create_revision, stored.mod_revision, stored.lease)

    def _kvs(self, answer: RangeResponse) -> list[KeyValue]:
        return [self._kv(stored) for stored in answer.kvs if self._keys.decode(stored.key) is not None]

    # -- writing -------------------------------------------------------------------------------------------------------

    async def txn(self, ops: Sequence[Op]) -> int:
        self._check_open()
        compare, success, checked = [], [], []
        for op in ops:
            key = self._keys.encode(op.key)
            if op.expected is not None:
                compare.append(messages.compare_mod_revision(key, op.expected))
                checked.append((op, messages.range_op(key)))
            if type(op) is Put:
                success.append(messages.put_op(key, op.value, lease=op.lease_id))
            elif type(op) is Delete:
                success.append(messages.delete_op(key))
        if len(ops) > 1 and len({op.key for op in ops}) < len(ops):
            raise ValueError("a transaction names a key twice")
        with self._request:
            started, position, is_error = self._clock.monotonic(), self._log.position, True
            try:
                answer = await self._client.txn(messages.txn_request(compare, success, [op for _, op in checked]))
                is_error = False
            finally:
                if ops:
                    seconds = self._clock.monotonic() - started
                    self.request_metrics.observe(_operation(ops[-1]), ops[-1].key, seconds, is_error=is_error)
        self._log.compare(answer.header, position)
        revision = answer.header.revision
        if not answer.succeeded:
            raise self._conflict([op for op, _ in checked], answer.ranges)
        if revision > self._log.revision:
            await self._log.reached(revision)
        return revision

    def _conflict(self, checked: Sequence[Op], ranges: Sequence[RangeResponse]) -> StoreError:
        for op, response in zip(checked, ranges, strict=True):
            current = self._kv(response.kvs[0]) if response.kvs else None
            if op.expected != (0 if current is None else current.mod_revision):
                return Conflict(op.key, current)
        return Unavailable("etcd refused a transaction whose conditions hold")

    # -- watching ------------------------------------------------------------------------------------------------------

    async def watch(
        self, prefix: str, sink: Callable[[Batch], None], *, after_revision: int, on_lost: Callable[[StoreError], None]
    ) -> Subscription:
        """Deliver history from a separate stream, then live events from the log, without a gap."""
        if not prefix.endswith("/"):
            raise ValueError("a watched prefix must end in '/'")
        self._check_open()
        if after_revision < self.compact_revision:
            raise Compacted(after_revision, self.compact_revision)
        # revision 1 is the empty store and has no event
        watcher = Watcher(self._dispatcher, prefix, sink=sink, after_revision=max(1, after_revision), on_lost=on_lost)
        if watcher.seen_revision < self._log.revision:
            await self._catch_up(watcher)
        elif not watcher.closed:
            self._dispatcher.add(watcher)
        return watcher

    async def _catch_up(self, watcher: Watcher) -> None:
        """Send the events up to the log's revision, then join the log. Raises ``Compacted``, ``Unavailable``."""
        member, restarts = self._client.members.current, self._log.restarts
        request = messages.watch_request(start_revision=watcher.seen_revision + 1)
        try:
            stream = await self._client.open_watch(member, request)
        except RpcError as error:
            self._client.members.failed(member)
            raise Unavailable(text_of(error)) from error
        try:
            while not watcher.closed:
                guard = self._clock.timer(CATCH_UP_SECONDS, stream.cancel)
                message = await stream.read()
                guard.cancel()
                self._check_open()
                if self._log.restarts != restarts:
                    raise Compacted(watcher.seen_revision, self._log.revision)
                if message is None:
                    self._client.members.failed(member)
                    raise Unavailable("etcd ended a watch, or sent no event that it has")
                response = messages.read_watch(message)
                if response.is_canceled:
                    if response.compact_revision:
                        self._compactor.note(response.compact_revision)
                        raise Compacted(watcher.seen_revision, response.compact_revision)
                    raise Unavailable(response.cancel_reason or "etcd cancelled a watch")
                revision, events = events_of(response, self._keys)
                watcher.send([event for event in events if event.key.startswith(watcher.prefix)], revision=revision)
                if watcher.seen_revision >= self._log.revision and not watcher.closed:
                    self._dispatcher.add(watcher)
                    break
        except RpcError as error:
            self._client.members.failed(member)
            raise Unavailable(text_of(error)) from error
        finally:
            stream.cancel()

    # -- history -------------------------------------------------------------------------------------------------------

    async def compact(self, revision: int) -> None:
        self._check_open()
        newest = await self.current_revision()
        if revision > newest:
            raise FutureRevision(revision, newest)
        if revision > self.compact_revision:
            with self._request:
                await self._compactor.compact(revision)

    # -- leases --------------------------------------------------------------------------------------------------------

    async def grant_lease(self, ttl_seconds: int, *, lease_id: int = 0) -> int:
        self._check_open()
        lease_id = lease_id or self._new_lease_id()
        if ttl_seconds < 1:
            raise ValueError("a lease lasts a second at least")
        if not 0 < lease_id < LEASE_ID_END:
            raise ValueError(f"lease id {lease_id} is out of range")
        with self._request:
            try:
                return (await self._client.grant_lease(ttl_seconds, lease_id)).lease_id
            except RpcError as error:
                if text_of(error) != LEASE_EXISTS:
                    raise
        raise StoreError(f"lease {lease_id} exists already")

    async def keep_alive(self, lease_id: int) -> None:
        with self._request:
            answer = await self._client.keep_alive(lease_id)
        if answer.ttl_seconds <= 0:
            raise LeaseNotFound(f"lease {lease_id} does not exist")

    async def revoke_lease(self, lease_id: int) -> None:
        with self._request:
            answer = await self._client.revoke_lease(lease_id)
        await self._log.reached(answer.header.revision)

    # -- health --------------------------------------------------------------------------------------------------------

    async def check_writable(self) -> None:
        """Raise ``Unavailable`` without a quorum, or if an alarm forbids writes."""
        with self._request:
            alarms = await self._client.alarms()
            await self._client.revision()
        if alarms:
            raised = ", ".join(f"{name} on member {member_id:x}" for member_id, name in alarms)
            raise Unavailable(f"etcd has raised an alarm: {raised}")

    async def size_bytes(self) -> int:
        with self._request:
            return (await self._client.status()).size_bytes

    # -- closing -------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._in_flight:  # each has a timeout
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        await self._tasks.close()
        self._log.end_waits()
        self._dispatcher.close(_closed())
        await self._client.close()

    def _begin(self) -> None:
        self._check_open()
        self._in_flight += 1

    def _done(self) -> None:
        self._in_flight -= 1
        if not self._in_flight and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def _check_open(self) -> None:
        if self._closing is not None:
            raise _closed()


def _operation(op: Op) -> str:
    """Return upstream's name of a transaction, by its last operation, which writes the object."""
    if type(op) is Put:
        return "create" if op.expected == 0 else "update"
    return "delete" if type(op) is Delete else "get"


def _fail_all(callers: Sequence[asyncio.Future[int]], error: Exception) -> None:
    for caller in callers:
        if not caller.done():
            caller.set_exception(error)


def _closed() -> Unavailable:
    return Unavailable("the store is closed")
