"""``Store`` that encrypts the values of another ``Store``.

Encryption and decryption with known keys are synchronous, so that a sink receives an event when the inner store delivers it. A
value whose data key a KMS plugin must decrypt first delays the later events of the watch.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.storage.encryption.kms import KMSUnavailableError
from steersman.storage.encryption.metrics import FROM_STORAGE, TO_STORAGE, UNKNOWN
from steersman.storage.encryption.transformers import DataKeyUnknownError, DecryptionError
from steersman.storage.store import Batch, Conflict, CorruptValue, Event, KeyValue, Put, Range, Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.asynckit.tasks import Supervisor
    from steersman.storage.encryption.metrics import EncryptionMetrics
    from steersman.storage.encryption.transformers import GroupResource, ResourceTransformers
    from steersman.storage.store import Op, Store, StoreError, Subscription

    #: Maps a key to its resource; None for data that is never encrypted.
    ResourceOf = Callable[[str], GroupResource | None]

#: Prefix of the value of a key that no provider decrypts, followed by the reason. No codec decodes it.
UNREADABLE: Final = b"k8s:enc:unreadable: "
#: Maximum number of pending batches of a watch while a data key is decrypted; above it the watch is lost.
_UNDECRYPTED_BATCHES_MAX: Final = 1000
#: Root of keys in upstream's layout; replaced by ``--etcd-prefix``.
_ROOT: Final = "/registry"


class EncryptedStore:
    """Encrypting ``Store``; see the package for its promises. Owns ``store``."""

    def __init__(
        self,
        store: Store,
        transformers: ResourceTransformers,
        *,
        resource_of: ResourceOf,
        tasks: Supervisor,
        metrics: EncryptionMetrics,
        root: str = _ROOT,
    ) -> None:
        """``root``: prefix of the keys in etcd, in place of ``/registry``; it is authenticated with each value."""
        self._store: Final = store
        self._transformers = transformers
        self._resource_of: Final = resource_of
        self._tasks: Final = tasks
        self._metrics: Final = metrics
        self._root: Final = root
        #: Watches with pending events.
        self._holding: set[_Watch] = set()
        #: Resolved when one of these watches delivers or drops events.
        self._change: asyncio.Future[None] | None = None

    def use(self, transformers: ResourceTransformers) -> None:
        """Replace the transformers."""
        self._transformers = transformers

    @property
    def inner(self) -> Store:
        """The store of the encrypted values."""
        return self._store

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        held = [watch.held_from for watch in self._holding]
        return min([self._store.revision, *(first - 1 for first in held)])

    @property
    def compact_revision(self) -> int:
        return self._store.compact_revision

    @property
    def is_shared(self) -> bool:
        return self._store.is_shared

    async def current_revision(self) -> int:
        revision = await self._store.current_revision()
        await self._released(revision)
        return revision

    async def reached(self, revision: int, *, seconds: float) -> bool:
        if not await self._store.reached(revision, seconds=seconds):
            return False
        await self._released(revision)  # a plugin responds or fails within its timeout
        return True

    async def _released(self, revision: int) -> None:
        """Wait until no watch has pending events up to ``revision``."""
        while any(watch.held_from <= revision for watch in self._holding):
            self._change = self._change or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._change)

    def hold(self, watch: _Watch) -> None:
        """Record that a watch has pending events."""
        self._holding.add(watch)

    def release(self, watch: _Watch) -> None:
        """Record that the pending events of a watch have changed."""
        if not watch.is_holding:
            self._holding.discard(watch)
        if self._change is not None:
            self._change.set_result(None)
            self._change = None

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        kv = await self._store.get(key, revision=revision)
        return None if kv is None else await self.readable(kv)

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> Range:
        try:
            encrypted = await self._store.range(
                prefix, start_after=start_after, limit=limit, revision=revision, keys_only=keys_only
            )
        except CorruptValue as error:
            if error.readable is None:
                raise
            raise CorruptValue(error.keys, await self._readable_range(error.readable)) from error
        return encrypted if keys_only else await self._readable_range(encrypted)

    async def _readable_range(self, encrypted: Range) -> Range:
        kvs = [await self.readable(kv) for kv in encrypted.kvs]
        return Range(kvs, encrypted.revision, encrypted.more, encrypted.count)

    async def readable(self, kv: KeyValue) -> KeyValue:
        """Return the key with its plain value. Raises ``Unavailable`` if a plugin does not decrypt its data key."""
        while True:
            try:
                value, is_stale = self._decrypted(kv.key, kv.value)
            except DataKeyUnknownError as missing:
                await missing.load()
                continue
            if value is kv.value and not is_stale:
                return kv
            return KeyValue(kv.key, value, kv.create_revision, kv.mod_revision, kv.lease_id, is_stale)

    def _decrypted(self, key: str, value: bytes) -> tuple[bytes, bool]:
        """Return the plain value, or the error text for an unreadable one.

        Raises ``DataKeyUnknownError``, whose ``load`` raises ``Unavailable``.
        """
        resource = self._resource_of(key)
        transformer = None if resource is None else self._transformers.get(resource)
        if resource is None or transformer is None:
            return value, False
        metrics = self._metrics
        started, prefix = metrics.now(), transformer.prefix_of(value)
        try:
            plain = transformer.decrypt(value, self._context(key))
        except DataKeyUnknownError as missing:
            raise DataKeyUnknownError(partial(self._load, missing.load, resource[0], prefix)) from None
        except DecryptionError as error:
            metrics.transformed(resource[0], FROM_STORAGE, prefix, started, UNKNOWN)
            return UNREADABLE + str(error).encode(), False
        metrics.transformed(resource[0], FROM_STORAGE, prefix, started)
        return plain

    async def _load(self, load: Callable[[], Awaitable[None]], resource: str, prefix: str) -> None:
        """Fetch a data key. Raises ``Unavailable``."""
        started = self._metrics.now()
        try:
            await load()
        except KMSUnavailableError as error:
            self._metrics.transformed(resource, FROM_STORAGE, prefix, started, error.status)
            raise Unavailable(str(error)) from error

    def _context(self, key: str) -> bytes:
        return (key if self._root == _ROOT else self._root + key.removeprefix(_ROOT)).encode()

    # -- writing -------------------------------------------------------------------------------------------------------

    async def txn(self, ops: Sequence[Op]) -> int:
        try:
            return await self._store.txn([self._encrypted(op) for op in ops])
        except KMSUnavailableError as error:
            raise Unavailable(str(error)) from error
        except Conflict as lost:
            current = None if lost.current is None else await self.readable(lost.current)
            raise Conflict(lost.key, current) from None

    def _encrypted(self, op: Op) -> Op:
        if not isinstance(op, Put):
            return op
        resource = self._resource_of(op.key)
        transformer = None if resource is None else self._transformers.get(resource)
        if resource is None or transformer is None:
            return op
        metrics = self._metrics
        started, prefix = metrics.now(), transformer.first_prefix
        try:
            encrypted = transformer.encrypt(op.value, self._context(op.key))
        except KMSUnavailableError as error:
            metrics.transformed(resource[0], TO_STORAGE, prefix, started, error.status)
            raise
        metrics.transformed(resource[0], TO_STORAGE, prefix, started)
        return Put(op.key, encrypted, op.expected, op.lease_id)

    async def compact(self, revision: int) -> None:
        await self._store.compact(revision)

    # -- watching ------------------------------------------------------------------------------------------------------

    async def watch(
        self, prefix: str, sink: Callable[[Batch], None], *, after_revision: int, on_lost: Callable[[StoreError], None]
    ) -> Subscription:
        watch = _Watch(self, sink, on_lost, self._tasks)
        watch.inner = await self._store.watch(prefix, watch.deliver, after_revision=after_revision, on_lost=watch.lost)
        return watch

    def readable_batch(self, batch: Batch) -> Batch:
        """Return a batch with plain values. Raises ``DataKeyUnknownError``."""
        if not batch.events:
            return batch
        return Batch(tuple([self._readable_event(event) for event in batch.events]), batch.revision)

    def _readable_event(self, event: Event) -> Event:
        if event.value is None:
            return event
        value, is_stale = self._decrypted(event.key, event.value)
        if value is event.value and not is_stale:
            return event
        return Event(event.key, value, event.create_revision, event.mod_revision, is_stale)

    # -- leases and the rest -------------------------------------------------------------------------------------------

    async def grant_lease(self, ttl_seconds: int, *, lease_id: int = 0) -> int:
        return await self._store.grant_lease(ttl_seconds, lease_id=lease_id)

    async def keep_alive(self, lease_id: int) -> None:
        await self._store.keep_alive(lease_id)

    async def revoke_lease(self, lease_id: int) -> None:
        await self._store.revoke_lease(lease_id)

    async def check_writable(self) -> None:
        await self._store.check_writable()

    async def size_bytes(self) -> int:
        return await self._store.size_bytes()

    async def close(self) -> None:
        await self._store.close()
        await self._tasks.close()


class _Watch:
    """A watch whose events are decrypted in order."""

    def __init__(
        self,
        store: EncryptedStore,
        sink: Callable[[Batch], None],
        on_lost: Callable[[StoreError], None],
        tasks: Supervisor,
    ) -> None:
        self._store = store
        self._sink = sink
        self._on_lost = on_lost
        self._tasks = tasks
        #: Batches pending for a data key, oldest first. Not empty while ``_loading`` runs.
        self._undecrypted: deque[Batch] = deque()
        self._loading: asyncio.Task[None] | None = None
        self._closed = False
        self.inner: Subscription | None = None

    def deliver(self, batch: Batch) -> None:
        """Deliver a batch, immediately if all of its data keys are known and no batch is pending."""
        if self._closed:
            return
        if self._undecrypted:
            if len(self._undecrypted) >= _UNDECRYPTED_BATCHES_MAX:
                self._end(Unavailable("a KMS plugin did not decrypt a data key in time, too many events wait for it"))
            else:
                self._undecrypted.append(batch)
            return
        try:
            readable = self._store.readable_batch(batch)
        except DataKeyUnknownError as missing:
            self._undecrypted.append(batch)
            self._store.hold(self)
            self._loading = self._tasks.start("decrypt data keys of a watch", self._load(missing))
            return
        self._sink(readable)

    async def _load(self, missing: DataKeyUnknownError) -> None:
        """Fetch data keys until no batch is pending. The watch ends if a plugin fails; the reader then relists."""
        while self._undecrypted:
            try:
                await missing.load()
            except Unavailable as error:
                self._end(error)
                return
            try:
                while self._undecrypted:
                    readable = self._store.readable_batch(self._undecrypted[0])
                    self._undecrypted.popleft()
                    self._sink(readable)
                    self._store.release(self)
            except DataKeyUnknownError as another:
                missing = another

    @property
    def is_holding(self) -> bool:
        """True if events are pending for a data key."""
        return bool(self._undecrypted)

    @property
    def held_from(self) -> int:
        """Revision of the oldest pending event; only valid while ``is_holding``."""
        return self._undecrypted[0].events[0].mod_revision

    def lost(self, error: StoreError) -> None:
        """Report that the inner watch ended."""
        if not self._closed:
            self._end(error)

    def _end(self, error: StoreError) -> None:
        self.close()
        self._on_lost(error)

    def close(self) -> None:
        """Stop: the sink is not called again. Idempotent."""
        self._closed = True
        self._undecrypted.clear()
        self._store.release(self)
        if self.inner is not None:
            self.inner.close()
