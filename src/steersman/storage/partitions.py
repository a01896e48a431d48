"""Store with separate stores for some prefixes, as in ``--etcd-servers-overrides``.

Each part has its own revision counter, so revisions of different parts cannot be compared. Callers that work on one prefix use
the store of its part (``store_of``); methods with a key use its part, the others use the default part.
A transaction or a range over several parts is a ``ValueError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.storage.store import Batch, KeyValue, Op, Range, Store, StoreError, Subscription


def store_of(store: Store, prefix: str) -> Store:
    """Return the store of ``prefix``, which ends in ``/``."""
    return store.part(prefix) if isinstance(store, PartitionedStore) else store


def parts_of(store: Store) -> tuple[Store, ...]:
    """Return the stores behind a store, the default one first."""
    return store.parts if isinstance(store, PartitionedStore) else (store,)


class PartitionedStore:
    """Store with parts by prefix; see the module. Owns its parts."""

    def __init__(self, default: Store, by_prefix: Mapping[str, Store]) -> None:
        """Each key of ``by_prefix`` ends in ``/``; none begins with another one. Prefixes may share a store."""
        self._default: Final = default
        self._by_prefix: Final = dict(by_prefix)

    def map(self, wrap: Callable[[Store], Store]) -> PartitionedStore:
        """Return the same partition of wrapped stores."""
        wrapped = {id(store): wrap(store) for store in self.parts}
        return PartitionedStore(
            wrapped[id(self._default)], {prefix: wrapped[id(store)] for prefix, store in self._by_prefix.items()}
        )

    @property
    def parts(self) -> tuple[Store, ...]:
        """The stores, the default one first."""
        return tuple({id(store): store for store in (self._default, *self._by_prefix.values())}.values())

    def part(self, key: str) -> Store:
        """Return the store of a key, or of a prefix that ends in ``/``."""
        for prefix, store in self._by_prefix.items():
            if key.startswith(prefix):
                return store
        return self._default

    def _part_of_prefix(self, prefix: str) -> Store:
        inside = [candidate for candidate in self._by_prefix if candidate.startswith(prefix) and candidate != prefix]
        if inside:
            raise ValueError(f"{prefix} is kept in several stores")
        return self.part(prefix)

    # -- one part by key -----------------------------------------------------------------------------------------------

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        return await self.part(key).get(key, revision=revision)

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> Range:
        return await self._part_of_prefix(prefix).range(
            prefix, start_after=start_after, limit=limit, revision=revision, keys_only=keys_only
        )

    async def txn(self, ops: Sequence[Op]) -> int:
        stores = {id(store): store for store in (self.part(op.key) for op in ops)}
        if len(stores) > 1:
            raise ValueError(f"a transaction over several stores: {', '.join(op.key for op in ops)}")
        return await (next(iter(stores.values())) if stores else self._default).txn(ops)

    async def watch(
        self, prefix: str, sink: Callable[[Batch], None], *, after_revision: int, on_lost: Callable[[StoreError], None]
    ) -> Subscription:
        return await self._part_of_prefix(prefix).watch(prefix, sink, after_revision=after_revision, on_lost=on_lost)

    # -- the default part ----------------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        return self._default.revision

    @property
    def is_shared(self) -> bool:
        return self._default.is_shared

    @property
    def compact_revision(self) -> int:
        return self._default.compact_revision

    async def current_revision(self) -> int:
        return await self._default.current_revision()

    async def reached(self, revision: int, *, seconds: float) -> bool:
        return await self._default.reached(revision, seconds=seconds)

    async def compact(self, revision: int) -> None:
        await self._default.compact(revision)

    async def grant_lease(self, ttl_seconds: int, *, lease_id: int = 0) -> int:
        return await self._default.grant_lease(ttl_seconds, lease_id=lease_id)

    async def keep_alive(self, lease_id: int) -> None:
        await self._default.keep_alive(lease_id)

    async def revoke_lease(self, lease_id: int) -> None:
        await self._default.revoke_lease(lease_id)

    # -- all parts -----------------------------------------------------------------------------------------------------

    async def check_writable(self) -> None:
        for store in self.parts:
            await store.check_writable()

    async def size_bytes(self) -> int:
        return sum([await store.size_bytes() for store in self.parts])

    async def close(self) -> None:
        for store in self.parts:
            await store.close()
