"""Copy of all objects of one store to another one: resumable, and verified by a digest.

No other process may use the stores meanwhile. Promises:

* The destination must hold no objects, or be the rest of an interrupted transfer of the same data: two clusters are never mixed.
* An interrupted transfer continues where it ended; existing objects are verified at the end.
* A transfer has succeeded when the digest over all keys and values of the destination equals the source's.
* Values are copied unchanged, even encrypted ones, unless ``transform`` changes them. Revisions are those of the destination.
* Keys with a lease (Events) get a new lease of ``lease_ttl_seconds``. The addresses of API servers are not copied.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.storage.store import Delete, Put

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from steersman.storage.store import KeyValue, Store

    #: Maps a key and its value to the value to store.
    Transform = Callable[[str, bytes], bytes]

#: Prefix of all objects.
ROOT: Final = "/registry/"
#: Key of the record of an unfinished transfer; not a resource.
RECORD_KEY: Final = "/registry/.transfer"
#: Not copied: the record, and addresses of running API servers, which end with their servers.
_TEMPORARY: Final = (RECORD_KEY, "/registry/masterleases/", "/registry/peerserverleases/")
#: Upstream's default of ``--event-ttl``.
_LEASE_TTL_SECONDS: Final = 3600
_PAGE_KEYS: Final = 500
#: Bounds of one transaction: etcd allows 128 operations and 1.5 MiB by default.
_OPS_MAX: Final = 100
_BYTES_MAX: Final = 1024 * 1024


class TransferError(Exception):
    """The transfer is impossible, or its result differs from the source; the message has the reason."""


class Transferred(msgspec.Struct, frozen=True):
    """Result of a transfer."""

    #: Number of objects in the destination, and of those copied by an earlier run.
    keys: int
    resumed: int
    #: Digest over all keys and values, in hexadecimal.
    digest: str


def _same(_key: str, value: bytes) -> bytes:
    return value


async def transfer(
    source: Store,
    destination: Store,
    *,
    transform: Transform = _same,
    lease_ttl_seconds: int = _LEASE_TTL_SECONDS,
    progress: Callable[[int], None] = lambda _: None,
) -> Transferred:
    """Copy all objects. ``progress`` receives the number of keys in the destination. Raises ``TransferError``, ``StoreError``."""
    digest = await digest_of(source, transform)
    await _begin(destination, digest)
    copy = _Copy(destination, lease_ttl_seconds, progress)
    present = await _keys(destination)
    async for kv in objects_of(source):
        if kv.key in present:
            copy.skip()
        else:
            await copy.add(kv, transform(kv.key, kv.value))
    await copy.flush()
    result = await digest_of(destination, _same)
    if result != digest:
        raise TransferError(f"the destination differs from the source: digest {result}, expected {digest}")
    await destination.txn([Delete(RECORD_KEY)])
    return Transferred(copy.keys, len(present), digest)


async def _begin(destination: Store, digest: str) -> None:
    """Record the transfer in the destination. Raises ``TransferError`` if it contains other data."""
    record = await destination.get(RECORD_KEY)
    if record is not None:
        if record.value.decode(errors="replace") != digest:
            raise TransferError("the destination holds part of a transfer of other data; empty it first")
        return
    existing = await destination.range(ROOT, keys_only=True)
    others = [kv.key for kv in existing.kvs if not kv.key.startswith(_TEMPORARY)]
    if others:
        raise TransferError(f"the destination holds {len(others)} objects already, the first is {others[0]}")
    await destination.txn([Put(RECORD_KEY, digest.encode(), expected=0)])


async def digest_of(store: Store, transform: Transform = _same) -> str:
    """Return the SHA-256 over keys and values of all objects, in order, in hexadecimal."""
    digest = hashlib.sha256()
    async for kv in objects_of(store):
        for part in (kv.key.encode(), transform(kv.key, kv.value)):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


async def _keys(store: Store) -> set[str]:
    existing = await store.range(ROOT, keys_only=True)
    return {kv.key for kv in existing.kvs if not kv.key.startswith(_TEMPORARY)}


def objects_of(store: Store) -> AsyncIterator[KeyValue]:
    """Return the objects of a store that are copied, in order of their keys."""
    return _Objects(store)


class _Objects:
    """Iterator over the objects of a store, read in pages."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._page: list[KeyValue] = []
        self._at = 0
        self._after = ""
        self._has_more = True

    def __aiter__(self) -> AsyncIterator[KeyValue]:
        return self

    async def __anext__(self) -> KeyValue:
        while True:
            if self._at == len(self._page):
                if not self._has_more:
                    raise StopAsyncIteration
                page = await self._store.range(ROOT, start_after=self._after, limit=_PAGE_KEYS)
                self._page, self._at, self._has_more = page.kvs, 0, page.more
                if page.kvs:
                    self._after = page.kvs[-1].key
                continue
            kv = self._page[self._at]
            self._at += 1
            if not kv.key.startswith(_TEMPORARY):
                return kv


class _Copy:
    """Writer to the destination in transactions of bounded size."""

    def __init__(self, destination: Store, lease_ttl_seconds: int, progress: Callable[[int], None]) -> None:
        self._destination = destination
        self._lease_ttl_seconds = lease_ttl_seconds
        self._progress = progress
        self._ops: list[Put] = []
        self._bytes = 0
        #: Leases of the source → those of the destination.
        self._leases: dict[int, int] = {}
        #: Number of keys in the destination.
        self.keys = 0

    def skip(self) -> None:
        """Count a key copied by an earlier run."""
        self.keys += 1

    async def add(self, kv: KeyValue, value: bytes) -> None:
        """Queue a key; flush the batch first if it is full."""
        size = len(kv.key) + len(value)
        if self._ops and (len(self._ops) >= _OPS_MAX or self._bytes + size > _BYTES_MAX):
            await self.flush()
        self._ops.append(Put(kv.key, value, expected=0, lease_id=await self._lease_id(kv.lease_id)))
        self._bytes += size

    async def _lease_id(self, lease_id: int) -> int:
        if not lease_id:
            return 0
        if lease_id not in self._leases:
            self._leases[lease_id] = await self._destination.grant_lease(self._lease_ttl_seconds)
        return self._leases[lease_id]

    async def flush(self) -> None:
        """Write the queued keys."""
        if self._ops:
            await self._destination.txn(self._ops)
            self.keys += len(self._ops)
            self._ops, self._bytes = [], 0
            self._progress(self.keys)
