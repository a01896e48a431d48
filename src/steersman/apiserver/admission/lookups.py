"""What plugins know of other objects: the watch caches' state, each object read once for as long as it does not change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.watch_cache import WatchCache

T = TypeVar("T")

#: Answers kept per look-up; all are forgotten when there are more (objects that went are among them).
_KEPT_MAX: Final = 4096


class Lookup(Generic[T]):
    """Objects of one kind as a plugin wants them: ``read`` makes of a tree what the plugin needs of it."""

    def __init__(self, cache: WatchCache, read: Callable[[dict[str, Any]], T]) -> None:
        self._cache: Final = cache
        self._read: Final = read
        self._kept: Final[dict[str, tuple[Entry, T]]] = {}
        #: What ``all`` answers until something changes; kept up to date from the first such question on.
        self._all: Sequence[T] | None = None
        self._follows = False

    async def get(self, name: str, *, namespace: str = "") -> T | None:
        """The object of that name, None when there is none. Of a remote store nothing is missing before it was asked."""
        cache = self._cache
        if not cache.is_ready:
            await cache.ready()
        key = cache.key(namespace, name)
        entry = cache.get(key)
        if entry is None and cache.remote:
            await cache.wait_fresh()
            entry = cache.get(key)
        if entry is None:
            self._kept.pop(key, None)
            return None
        kept = self._kept.get(key)
        return kept[1] if kept is not None and kept[0] is entry else self._of(entry)

    def at_once(self, name: str, *, namespace: str = "") -> T | None:
        """As ``get``, without waiting; None as well when that could not be told."""
        cache = self._cache
        if not cache.is_ready:
            return None
        entry = cache.get(cache.key(namespace, name))
        return None if entry is None else self._of(entry)

    def none(self) -> bool:
        """Whether there is no object at all, as far as can be told without waiting."""
        cache = self._cache
        return cache.is_ready and not len(cache)

    async def all(self, *, namespace: str = "") -> Sequence[T]:
        """All objects, or all of a namespace; of all the same sequence each time until one of them changes."""
        cache = self._cache
        if not cache.is_ready:
            await cache.ready()
        if namespace:
            return self._snapshot(namespace) if len(cache) else ()
        return self._everything()

    def all_at_once(self) -> Sequence[T] | None:
        """All objects, without waiting; None when that could not be told."""
        return self._everything() if self._cache.is_ready else None

    def _everything(self) -> Sequence[T]:
        if not self._follows:
            self._follows = True
            self._cache.follow(self)
        found = self._all
        if found is None:
            found = self._all = self._snapshot("")
        return found

    def _snapshot(self, namespace: str) -> Sequence[T]:
        cache = self._cache
        return tuple([self._of(entry) for entry in cache.snapshot(cache.scope(namespace))])

    # -- as a follower of the cache ------------------------------------------------------------------------------------

    def reset(self, entries: list[Entry]) -> None:
        """Other objects may be there."""
        self._all = None

    def put(self, entry: Entry) -> None:
        """An object is another."""
        self._all = None

    def remove(self, key: str) -> None:
        """An object is gone."""
        self._all = None

    def _of(self, entry: Entry) -> T:
        kept = self._kept.get(entry.key)
        if kept is not None and kept[0] is entry:
            return kept[1]
        if len(self._kept) >= _KEPT_MAX:
            self._kept.clear()
        value = self._read(entry.tree())
        self._kept[entry.key] = (entry, value)
        return value


def whole(tree: dict[str, Any]) -> dict[str, Any]:
    """For plugins that look at the object as it is; they must not change it."""
    return tree
