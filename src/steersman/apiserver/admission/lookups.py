"""Lookups of other objects for plugins: decoded objects of a watch cache, memoized until they change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from steersman.apimachinery.cache_sizes import CacheSize
from steersman.asynckit.slices import next_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.watch_cache import WatchCache

T = TypeVar("T")

#: Maximum number of memoized objects, deleted ones included; the memo is cleared when it is exceeded.
_CACHED_MAX: Final = 4096
#: Bound of the size of one memo, and the estimated size of a decoded object for each byte of its JSON.
_CACHED_BYTES: Final = 8 * 1024 * 1024
_BYTES_PER_BYTE: Final = 4
#: Objects of a namespace that are read at a stretch: about 5 ms if none is memoized.
_READ_AT_ONCE: Final = 256


class Lookup(Generic[T]):
    """Objects of one kind as converted by ``read``."""

    def __init__(self, cache: WatchCache, read: Callable[[dict[str, Any]], T]) -> None:
        self._cache: Final = cache
        self._read_object: Final = read
        self._cached: Final[dict[str, tuple[Entry, T]]] = {}
        self._cached_size: Final = CacheSize("objects of admission plugins")
        #: Result of ``all`` until an object changes; follows the cache after the first call.
        self._all: Sequence[T] | None = None
        self._follows = False

    async def get(self, name: str, *, namespace: str = "") -> T | None:
        """Return the object; None if it does not exist. With a remote store, a miss waits until the cache is fresh."""
        cache = self._cache
        if not cache.is_ready:
            await cache.ready()
        key = cache.key(namespace, name)
        entry = cache.get(key)
        if entry is None and cache.remote:
            await cache.wait_fresh()
            entry = cache.get(key)
        if entry is None:
            self._forget(key)
            return None
        cached = self._cached.get(key)
        return cached[1] if cached is not None and cached[0] is entry else self._of(entry)

    def get_cached(self, name: str, *, namespace: str = "") -> T | None:
        """Return the object without waiting; None also if that is unknown."""
        cache = self._cache
        if not cache.is_ready:
            return None
        entry = cache.get(cache.key(namespace, name))
        return None if entry is None else self._of(entry)

    def is_empty(self) -> bool:
        """True if there are no objects, as far as known without waiting."""
        cache = self._cache
        return cache.is_ready and not len(cache)

    async def all(self, *, namespace: str = "") -> Sequence[T]:
        """Return all objects, or those of a namespace; without namespace, the same sequence until an object changes."""
        cache = self._cache
        if not cache.is_ready:
            await cache.ready()
        if namespace:
            return await self._read_in_turns(cache.snapshot(cache.scope(namespace))) if len(cache) else ()
        return self._list_all()

    async def _read_in_turns(self, entries: Sequence[Entry]) -> Sequence[T]:
        """Return objects; other tasks of the loop have their turns between many."""
        objects: list[T] = []
        for start in range(0, len(entries), _READ_AT_ONCE):
            if start:
                await next_turn()
            objects += [self._of(entry) for entry in entries[start : start + _READ_AT_ONCE]]
        return tuple(objects)

    def list_cached(self) -> Sequence[T] | None:
        """Return all objects without waiting; None if they are unknown."""
        return self._list_all() if self._cache.is_ready else None

    def _list_all(self) -> Sequence[T]:
        if not self._follows:
            self._follows = True
            self._cache.follow(self)
        objects = self._all
        if objects is None:
            cache = self._cache
            objects = self._all = tuple([self._of(entry) for entry in cache.snapshot(cache.scope(""))])
        return objects

    # -- follower of the cache -----------------------------------------------------------------------------------------

    def reset(self, entries: list[Entry]) -> None:
        """Invalidate after a relist."""
        self._all = None

    def put(self, entry: Entry) -> None:
        """Invalidate after a create or update."""
        self._all = None

    def remove(self, key: str) -> None:
        """Invalidate after a delete."""
        self._all = None

    def _forget(self, key: str) -> None:
        cached = self._cached.pop(key, None)
        if cached is not None:
            self._cached_size.size_bytes -= _BYTES_PER_BYTE * len(cached[0].raw)

    def _of(self, entry: Entry) -> T:
        cached = self._cached.get(entry.key)
        if cached is not None and cached[0] is entry:
            return cached[1]
        self._forget(entry.key)
        size, value_bytes = self._cached_size, _BYTES_PER_BYTE * len(entry.raw)
        value = self._read_object(entry.tree())
        if value_bytes > _CACHED_BYTES // 8:
            return value
        if len(self._cached) >= _CACHED_MAX or size.size_bytes + value_bytes > _CACHED_BYTES:
            self._cached.clear()
            size.size_bytes = 0
        size.size_bytes += value_bytes
        self._cached[entry.key] = (entry, value)
        return value


def whole(tree: dict[str, Any]) -> dict[str, Any]:
    """Return the tree unchanged, for plugins that read the object itself; it is shared and read-only."""
    return tree
