"""Leases of API server addresses in the store, which expire unless renewed.

Keys and values are kube-apiserver's (``/registry/masterleases/<ip>``), so that both may share an etcd. These are the
only keys that bootstrap reads or writes; everything else goes through the API.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.schema.protobuf import MEDIA_TYPE, encode_body
from steersman.storage.store import Delete, LeaseNotFound, Put, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.storage.store import Batch, Store, Subscription

PREFIX: Final = "/registry/masterleases/"
#: TTL of an address (``DefaultEndpointReconcilerTTL``).
TTL_SECONDS: Final = 15

_log = logging.getLogger(__name__)


class MasterLeases:
    """Leases of all API servers' addresses. All methods raise ``StoreError``."""

    def __init__(self, store: Store, *, ttl_seconds: int = TTL_SECONDS, media_type: str = "") -> None:
        """``media_type`` of the stored values; empty: JSON."""
        self._store = store
        self._media_type = media_type
        self._ttl_seconds = ttl_seconds
        #: ID of the own lease; 0 if none is held.
        self._lease_id = 0

    async def addresses(self) -> list[str]:
        """Return the addresses of all live servers, in order."""
        stored = await self._store.range(PREFIX, keys_only=True)
        return [kv.key.removeprefix(PREFIX) for kv in stored.kvs]

    async def hold(self, address: str) -> None:
        """Create or renew the lease of ``address``."""
        if self._lease_id:
            try:
                await self._store.keep_alive(self._lease_id)
            except LeaseNotFound:
                self._lease_id = 0  # this process was suspended for longer than the TTL
        kv = await self._store.get(PREFIX + address)
        if kv is not None and self._lease_id:
            return
        if not self._lease_id:
            self._lease_id = await self._store.grant_lease(self._ttl_seconds)
        await self._store.txn([Put(PREFIX + address, _value(address, self._media_type), lease_id=self._lease_id)])

    async def release(self, address: str) -> bool:
        """Delete the lease of ``address``; return True if it existed."""
        was_there = await self._store.get(PREFIX + address) is not None
        if was_there:
            await self._store.txn([Delete(PREFIX + address)])
        if self._lease_id:
            lease_id, self._lease_id = self._lease_id, 0
            try:
                await self._store.revoke_lease(lease_id)
            except LeaseNotFound:
                _log.debug("the lease of %s had run out", address)
        return was_there

    async def watch(self, changed: Callable[[], None], *, lost: Callable[[StoreError], None]) -> Subscription:
        """Call ``changed`` when a lease is created or deleted, and ``lost`` when the watch ends with an error."""

        def sink(batch: Batch) -> None:
            if batch.events:
                changed()

        return await self._store.watch(PREFIX, sink, after_revision=self._store.revision, on_lost=lost)


def _value(address: str, media_type: str) -> bytes:
    metadata = {"generation": 1, "creationTimestamp": None}
    subsets = [{"addresses": [{"ip": address}]}]
    endpoints = {"kind": "Endpoints", "apiVersion": "v1", "metadata": metadata, "subsets": subsets}
    return encode_body(endpoints) if media_type == MEDIA_TYPE else msgspec.json.encode(endpoints) + b"\n"
