"""Generic store of one version of a resource whose objects a ``Converter`` converts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.trees import same_tree
from steersman.apiserver.generic.store import ObjectStore
from steersman.apiserver.workers import in_worker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.conversion import Converter
    from steersman.apiserver.generic.entry import Entry, Layout
    from steersman.apiserver.generic.strategy import Strategy
    from steersman.apiserver.request import RequestContext
    from steersman.storage.store import KeyValue, Op


class ConvertingStore(ObjectStore):
    """Objects in the version served; they are converted when they are read from and written to the store.

    A stored object is answered as the converter returns it, as upstream: each write converts to the storage version and back.
    """

    __slots__ = ("_converter", "_storage")

    def __init__(self, storage: ObjectStore, strategy: Strategy, layout: Layout, converter: Converter) -> None:
        """``storage``: the store of the storage version. ``layout``: that of the version served."""
        super().__init__(
            storage._store,
            storage.cache,
            strategy,
            group=storage.group_kind.partition(".")[2],
            identities=storage._identities,
            layout=layout,
        )
        self._storage: Final = storage
        self._converter: Final = converter

    async def current(self, key: str) -> Entry | None:
        """Return the object of the cache in the version served. Raises 500."""
        return await self._converted(await self._storage.current(key))

    async def stored(self, key: str) -> Entry | None:
        """Return the object of the store in the version served. Raises 500."""
        return await self._converted(await self._storage.stored(key))

    async def entry_from(self, kv: KeyValue | None) -> Entry | None:
        """Return the object of a transaction's conflict in the version served. Raises 500."""
        return await self._converted(self.entry_of(kv))

    async def insert(self, ctx: RequestContext, new: Tree, extra_ops: Sequence[Op] = ()) -> Entry:
        """Store a new object. Raises ``Conflict``, 500."""
        stored = await self._converter.to_storage(new)
        return await self._read_back(await self._storage.insert(ctx, stored))

    async def replace(
        self, ctx: RequestContext, new: Tree, old: Tree, entry: Entry, extra_ops: Sequence[Op] = ()
    ) -> Entry:
        """Store a changed object; remove it when it was released. Raises ``Conflict``, 500.

        An object that is stored in another version than the storage version is rewritten even if nothing changed.
        """
        key = entry.key
        if self._is_released(new, old):
            if not ctx.dry_run:
                await self.delete(ctx, key, new, expected=entry.revision)
            return await self._unstored(ctx, key, new, entry.revision)
        is_same = await in_worker(same_tree, new, old) if ctx.is_large else same_tree(new, old)
        if is_same and self._has_storage_version(entry):
            return entry
        return await self._store_changed(ctx, key, new, entry.revision)

    async def put(self, ctx: RequestContext, key: str, tree: Tree, entry: Entry) -> Entry:
        """Store a tree in the place of ``entry``, unless nothing differs. Raises ``Conflict``, 500."""
        changed = await self._unstored(ctx, key, tree, entry.revision)
        if changed.raw == entry.raw:
            return changed
        return await self._store_changed(ctx, key, tree, entry.revision)

    def _has_storage_version(self, entry: Entry) -> bool:
        """Return False if the entry is stored in another version, or the cache does not know."""
        stored = self.cache.get(entry.key)
        return stored is not None and stored.revision == entry.revision and not stored.api_version

    async def _store_changed(self, ctx: RequestContext, key: str, tree: Tree, revision: int) -> Entry:
        storage = self._storage
        stored = await self._converter.to_storage(tree)
        if ctx.dry_run:
            entry = await storage._unstored(ctx, key, stored, revision)
        else:
            entry = await storage._put(ctx, key, stored, expected=revision)
        return await self._read_back(entry)

    async def _converted(self, entry: Entry | None) -> Entry | None:
        return None if entry is None else await self._read_back(entry)

    async def _read_back(self, entry: Entry) -> Entry:
        return (await self._converter.entries([entry]))[0]
