"""Feed of the RBAC authorizer's index (``authz/rbac_index.py``) from the watch caches of roles and bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apiserver.authz.rbac_index import RBACIndex
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.watch_cache import WatchCache

_GROUP: Final = "rbac.authorization.k8s.io"


class _Place:
    """Namespace and name of the keys of one cache."""

    def __init__(self, cache: WatchCache) -> None:
        self._length = len(cache.prefix)
        self.cluster = not cache.namespaced

    def of(self, key: str) -> tuple[str, str]:
        namespace, _, name = key[self._length :].rpartition("/")
        return namespace, name


class _Roles:
    """``Follower`` of Roles or ClusterRoles."""

    def __init__(self, index: RBACIndex, cache: WatchCache) -> None:
        self._index = index
        self._place = _Place(cache)

    def reset(self, entries: list[Entry]) -> None:
        self._index.clear_roles(cluster=self._place.cluster)
        for entry in entries:
            self.put(entry)

    def put(self, entry: Entry) -> None:
        self._index.put_role(*self._place.of(entry.key), entry.raw)

    def remove(self, key: str) -> None:
        self._index.remove_role(*self._place.of(key))


class _Bindings:
    """``Follower`` of RoleBindings or ClusterRoleBindings."""

    def __init__(self, index: RBACIndex, cache: WatchCache) -> None:
        self._index = index
        self._place = _Place(cache)

    def reset(self, entries: list[Entry]) -> None:
        self._index.clear_bindings(cluster=self._place.cluster)
        for entry in entries:
            self.put(entry)

    def put(self, entry: Entry) -> None:
        self._index.put_binding(*self._place.of(entry.key), entry.raw)

    def remove(self, key: str) -> None:
        self._index.remove_binding(*self._place.of(key))


def follow_rbac(index: RBACIndex, registry: Registry) -> list[WatchCache]:
    """Keep ``index`` up to date from now on. Returns the caches, which must be filled before the index is complete."""
    caches = []
    for name in ("clusterroles", "roles"):
        cache = registry.stored(f"{name}.{_GROUP}").cache
        cache.follow(_Roles(index, cache))
        caches.append(cache)
    for name in ("clusterrolebindings", "rolebindings"):
        cache = registry.stored(f"{name}.{_GROUP}").cache
        cache.follow(_Bindings(index, cache))
        caches.append(cache)
    return caches
