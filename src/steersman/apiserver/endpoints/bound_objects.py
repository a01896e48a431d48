"""Objects that tokens are bound to, and Secrets with tokens, from the watch caches."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.authn.service_account import BoundObject

if TYPE_CHECKING:
    from steersman.apiserver.authn.interface import StoredState
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.watch_cache import WatchCache

_PLURALS: Final = {"ServiceAccount": "serviceaccounts", "Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class _EntryState:
    """``StoredState`` of an entry of a watch cache, which a write replaces."""

    __slots__ = ("_cache", "_entry")

    def __init__(self, cache: WatchCache, entry: Entry) -> None:
        self._cache: Final = cache
        self._entry: Final = entry

    def is_current(self) -> bool:
        """Report whether the cache has this entry."""
        cache, entry = self._cache, self._entry
        return cache.is_ready and cache.get(entry.key) is entry


class StoredObjects:
    """``BoundObjects`` and ``SecretSource`` over a registry; empty until ``follow``."""

    def __init__(self) -> None:
        self._caches: Final[dict[str, WatchCache]] = {}
        self._lookups: Final[dict[str, Lookup[BoundObject]]] = {}
        self._secrets: Lookup[dict[str, Any]] | None = None

    def follow(self, registry: Registry) -> None:
        """Use this registry from now on."""
        for kind, plural in _PLURALS.items():
            cache = self._caches[kind] = registry.stored(plural).cache
            self._lookups[kind] = Lookup(cache, _bound_object)
        self._secrets = Lookup(registry.stored("secrets").cache, whole)

    async def find(self, kind: str, name: str, *, namespace: str) -> BoundObject | None:
        """Return the object of a kind; None if absent."""
        lookup = self._lookups.get(kind)
        return None if lookup is None else await lookup.get(name, namespace=namespace)

    def state(self, kind: str, name: str, *, namespace: str) -> tuple[BoundObject, StoredState] | None:
        """Return the object and its state; None without one, or if the cache is not ready."""
        cache, lookup = self._caches.get(kind), self._lookups.get(kind)
        if cache is None or lookup is None or not cache.is_ready:
            return None
        entry = cache.get(cache.key(namespace, name))
        bound_object = lookup.get_cached(name, namespace=namespace)
        return None if entry is None or bound_object is None else (bound_object, _EntryState(cache, entry))

    async def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return the tree of a Secret; None if absent."""
        return None if self._secrets is None else await self._secrets.get(name, namespace=namespace)


def _bound_object(tree: dict[str, Any]) -> BoundObject:
    metadata = tree["metadata"]
    deleted = metadata.get("deletionTimestamp")
    secrets = tree.get("secrets") or ()
    return BoundObject(
        metadata.get("uid") or "",
        datetime.fromisoformat(deleted).timestamp() if deleted else None,
        tuple(ref.get("name", "") for ref in secrets),
    )
