"""View of the store of an embedded cluster, which records the writer of each revision. The store remains open across API servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.storage.store import Check, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.storage.store import Batch, KeyValue, Op, Range, Store, StoreError, Subscription


class StoreView:
    """One API server's view of a store. ``close`` ends its watches and leaves the store open."""

    def __init__(self, inner: Store, *, on_commit: Callable[[int, int], None] | None = None) -> None:
        """``on_commit`` is called in the task of the writer with the revision and the number of writes."""
        self._inner = inner
        self._on_commit = on_commit
        self._watches: dict[Subscription, Callable[[StoreError], None]] = {}
        self._closed = False

    @property
    def revision(self) -> int:
        """Newest revision."""
        return self._inner.revision

    @property
    def compact_revision(self) -> int:
        """Oldest readable revision."""
        return self._inner.compact_revision

    async def current_revision(self) -> int:
        """Return the newest revision."""
        self._check_open()
        return await self._inner.current_revision()

    @property
    def is_shared(self) -> bool:
        """True if other processes write to the same store."""
        return self._inner.is_shared

    async def reached(self, revision: int, *, seconds: float) -> bool:
        """Wait for a revision."""
        self._check_open()
        return await self._inner.reached(revision, seconds=seconds)

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        """Return a key."""
        self._check_open()
        return await self._inner.get(key, revision=revision)

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> Range:
        """Return keys with a prefix."""
        self._check_open()
        return await self._inner.range(
            prefix, start_after=start_after, limit=limit, revision=revision, keys_only=keys_only
        )

    async def txn(self, ops: Sequence[Op]) -> int:
        """Apply operations."""
        self._check_open()
        revision = await self._inner.txn(ops)
        if self._on_commit is not None:
            self._on_commit(revision, sum(type(op) is not Check for op in ops))
        return revision

    async def watch(
        self, prefix: str, sink: Callable[[Batch], None], *, after_revision: int, on_lost: Callable[[StoreError], None]
    ) -> Subscription:
        """Watch a prefix; the watch ends with this view."""
        self._check_open()
        subscription = await self._inner.watch(prefix, sink, after_revision=after_revision, on_lost=on_lost)
        self._watches[subscription] = on_lost
        return _Watch(subscription, self._watches)

    async def compact(self, revision: int) -> None:
        """Drop history."""
        self._check_open()
        await self._inner.compact(revision)

    async def grant_lease(self, ttl_seconds: int, *, lease_id: int = 0) -> int:
        """Create a lease."""
        self._check_open()
        return await self._inner.grant_lease(ttl_seconds, lease_id=lease_id)

    async def keep_alive(self, lease_id: int) -> None:
        """Renew a lease."""
        self._check_open()
        await self._inner.keep_alive(lease_id)

    async def revoke_lease(self, lease_id: int) -> None:
        """Delete a lease and its keys."""
        self._check_open()
        await self._inner.revoke_lease(lease_id)

    async def check_writable(self) -> None:
        """Raise ``Unavailable`` unless writes are possible."""
        self._check_open()
        await self._inner.check_writable()

    async def size_bytes(self) -> int:
        """Return the size in bytes."""
        self._check_open()
        return await self._inner.size_bytes()

    async def close(self) -> None:
        """End the watches; further calls raise. Idempotent."""
        if self._closed:
            return
        self._closed = True
        watches, self._watches = self._watches, {}
        for subscription, on_lost in watches.items():
            subscription.close()
            on_lost(Unavailable("the store is closed"))

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the store is closed")


class _Watch:
    def __init__(self, subscription: Subscription, watches: dict[Subscription, Callable[[StoreError], None]]) -> None:
        self._subscription = subscription
        self._watches = watches

    def close(self) -> None:
        self._watches.pop(self._subscription, None)
        self._subscription.close()
