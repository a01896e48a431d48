"""Leases of objects that expire (Events)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.storage.store import Store

#: Objects written within this time share a lease and expire up to this much later. Upstream: ``LeaseReuseDurationSeconds``.
REUSE_SECONDS: Final = 60
#: Upper bound of the objects of one lease. Upstream: ``DefaultLeaseMaxObjectCount``.
OBJECTS_MAX: Final = 1000


class Lifetimes:
    """Allocator of leases of one duration."""

    __slots__ = ("_clock", "_granting", "_lease_id", "_objects", "_store", "_until", "ttl_seconds")

    def __init__(self, store: Store, clock: Clock, *, ttl_seconds: int) -> None:
        self.ttl_seconds: Final = ttl_seconds
        self._store = store
        self._clock = clock
        self._lease_id = 0
        self._objects = 0
        self._until = 0.0
        self._granting: Final = asyncio.Lock()

    async def lease_id(self) -> int:
        """Return the ID of a lease that ends in ``ttl_seconds`` or a little later."""
        if not self._has_room():
            async with self._granting:  # writers that come meanwhile share the new lease
                if not self._has_room():
                    await self._grant()
        self._objects += 1
        return self._lease_id

    def forget(self, lease_id: int) -> None:
        """Forget a lease that has expired; the next call grants a new one unless another writer did."""
        if self._lease_id == lease_id:
            self._lease_id = 0

    def _has_room(self) -> bool:
        return bool(self._lease_id) and self._objects < OBJECTS_MAX and self._clock.monotonic() < self._until

    async def _grant(self) -> None:
        # a twentieth longer at most, so that short lifetimes stay short
        reuse = min(REUSE_SECONDS, max(1, self.ttl_seconds // 20))
        until = self._clock.monotonic() + reuse  # the lease may begin any time from now on
        self._lease_id = await self._store.grant_lease(self.ttl_seconds + reuse)
        self._until = until
        self._objects = 0
