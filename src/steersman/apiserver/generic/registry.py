"""Registry of the stored resources, each created on first use.

Resources that are one in the store (a kind in several versions or groups) share a watch cache, a generic store and a
strategy. Resources may come and go at run time (custom ones).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from steersman.apiserver.generic.entry import Layout
from steersman.apiserver.generic.identity import Identities
from steersman.apiserver.generic.lifetimes import Lifetimes
from steersman.apiserver.generic.served import ServedResource
from steersman.apiserver.generic.storage_codec import JSON, StorageCodec
from steersman.apiserver.generic.store import ObjectStore
from steersman.apiserver.generic.watch_cache import WatchCache
from steersman.apiserver.spec_facts import SpecFactsCache
from steersman.schema.loader import struct
from steersman.storage.partitions import store_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from random import Random

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.strategy import Strategy
    from steersman.asynckit.clock import Clock
    from steersman.asynckit.tasks import Supervisor
    from steersman.schema.resources import Resource
    from steersman.storage.store import Store

    Conversion = Callable[[Tree], Tree]
    #: Drops disabled fields of an object that is to be stored; its second argument is the stored one, None for a create.
    DropDisabled = Callable[[Tree, Tree | None], None]


class Kinds(Protocol):
    """Rules of the built-in kinds; the engine depends on this interface only."""

    def strategy(self, resource: Resource) -> Strategy:
        """Return a new strategy. Raises ``LookupError`` for a kind without one."""

    def conversions(self, resource: Resource) -> tuple[Conversion | None, Conversion | None]:
        """Return the conversions to the storage version and back; None twice where the resource is served in it."""

    def readable_versions(self, resource: Resource) -> Mapping[str, Conversion | None]:
        """Return conversions of other API versions that a stored value may have; None where the fields are the same."""

    def field_labels(self, resource: Resource) -> Mapping[str, str] | None:
        """Return the field labels by their names in the storage version; None where they are the same."""

    def ttl_seconds(self, resource: Resource) -> int | None:
        """Return the time after which objects expire; None where they do not."""

    def drop_disabled(self, resource: Resource) -> DropDisabled | None:
        """Return the function that drops fields of feature gates that are off; None where there are none."""


class StoredResource:
    """Cache, store and strategy that the versions of one resource share."""

    __slots__ = ("cache", "objects", "strategy")

    def __init__(self, cache: WatchCache, objects: ObjectStore, strategy: Strategy) -> None:
        self.cache: Final = cache
        self.objects: Final = objects
        self.strategy: Final = strategy


class Registry:
    """Looks resources up by group, version and name."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        tasks: Supervisor,
        dice: Random,
        resources: Iterable[Resource],
        kinds: Kinds,
        remote: bool = False,
        min_request_timeout_seconds: float = 1800.0,
        storage_media_type: str = JSON,
    ) -> None:
        """``resources``: the built-in ones, with their rules in ``kinds``; stored in ``storage_media_type``."""
        self.store: Final = store
        self.clock: Final = clock
        self._tasks: Final = tasks
        #: Generator of the random parts of new objects.
        self.identities: Final = Identities(dice)
        self._spec_facts: Final = SpecFactsCache()
        self._kinds: Final = kinds
        self._remote: Final = remote
        self._min_request_timeout_seconds: Final = min_request_timeout_seconds
        self._storage_media_type: Final = storage_media_type
        built_in = tuple(resources)
        #: Built-in resources, served from their first request; custom resources are served as soon as they are established.
        self._built_in: Final = {(r.group, r.version, r.name): r for r in built_in}
        #: Groups whose unknown versions and resources are answered with a Status.
        self.groups: Final = frozenset(r.group for r in built_in)
        self._served: Final[dict[tuple[str, str, str], ServedResource]] = {}
        self._stored: Final[dict[str, StoredResource]] = {}
        #: Called with group, version and name of every resource that is added or removed.
        self.listeners: Final[list[Callable[[str, str, str], None]]] = []

    def get(self, group: str, version: str, name: str) -> ServedResource | None:
        """Return the stored resource of a URL; None if there is none, or if it has no storage (reviews)."""
        key = (group, version, name)
        served = self._served.get(key)
        if served is None:
            resource = self._built_in.get(key)
            if resource is not None and resource.key_prefix:
                served = self._served[key] = self._serve(resource)
        return served

    def resource(self, group: str, version: str, name: str) -> Resource | None:
        """Return the served or built-in resource of a URL, stored or not; None if there is none."""
        served = self._served.get((group, version, name))
        return self._built_in.get((group, version, name)) if served is None else served.resource

    def stored(self, group_resource: str) -> StoredResource:
        """Return cache and generic store of a built-in resource (``namespaces``, ``resourcequotas``). Raises KeyError."""
        name, _, group = group_resource.partition(".")
        for key, resource in self._built_in.items():
            if resource.name == name and resource.group == group and resource.key_prefix:
                served = self.get(*key)
                if served is not None:
                    return self._stored[resource.key_prefix]
        raise KeyError(group_resource)

    def of_kind(self, api_version: str, kind: str) -> list[Resource]:
        """Return the stored resources of a kind."""
        custom = [served.resource for served in self._served.values() if served.is_custom]
        return [r for r in (*self._built_in.values(), *custom) if (r.api_version, r.kind) == (api_version, kind)]

    def add(self, served: ServedResource) -> None:
        """Serve a resource; replace an earlier definition of it."""
        resource = served.resource
        self._served[resource.group, resource.version, resource.name] = served
        self._notify(resource.group, resource.version, resource.name)

    def remove(self, group: str, version: str, name: str) -> ServedResource | None:
        """Stop serving a resource. The caller closes its cache."""
        served = self._served.pop((group, version, name), None)
        self._notify(group, version, name)
        return served

    def _notify(self, group: str, version: str, name: str) -> None:
        for listener in self.listeners:
            listener(group, version, name)

    def create_stored(
        self,
        resource: Resource,
        strategy: Strategy,
        *,
        lifetimes: Lifetimes | None = None,
        codec: StorageCodec | None = None,
        keeps_api_version: bool = False,
        drop_disabled: DropDisabled | None = None,
    ) -> StoredResource:
        """Create the cache and generic store of a resource. Without ``codec`` (custom resources), values are JSON;
        ``keeps_api_version``: see ``Layout``; ``drop_disabled``: see ``Kinds``.
        """
        kind, api_version = resource.kind, resource.storage_api_version
        store = store_of(self.store, f"{resource.key_prefix}/")
        cache = WatchCache(
            store,
            f"{resource.key_prefix}/",
            layout=Layout(kind, api_version, codec, keeps_api_version=keeps_api_version),
            clock=self.clock,
            tasks=self._tasks,
            namespaced=resource.namespaced,
            remote=self._remote,
            min_request_timeout_seconds=self._min_request_timeout_seconds,
        )
        objects = ObjectStore(
            store,
            cache,
            strategy,
            group=api_version.rpartition("/")[0],
            identities=self.identities,
            lifetimes=lifetimes,
            drop_disabled=drop_disabled,
        )
        return StoredResource(cache, objects, strategy)

    def in_use(self) -> list[ServedResource]:
        """Return the resources that have been requested so far, in each version."""
        return list(self._served.values())

    def mark_stale(self) -> None:
        """Store the next write of every object even if it changes nothing, after the encryption key of the store has changed."""
        for cache in {served.cache.prefix: served.cache for served in self._served.values()}.values():
            cache.mark_stale()

    def close(self) -> None:
        """End all watches and stop following the store, for added resources too."""
        for served in self._served.values():
            served.cache.close()

    def _serve(self, resource: Resource) -> ServedResource:
        stored = self._stored.get(resource.key_prefix)
        if stored is None:
            strategy = self._kinds.strategy(resource)
            stored = self._stored[resource.key_prefix] = self.create_stored(
                resource,
                strategy,
                lifetimes=self._lifetimes(resource),
                codec=self._codec(resource, strategy),
                drop_disabled=self._kinds.drop_disabled(resource),
            )
        to_storage, from_storage = self._kinds.conversions(resource)
        return ServedResource(
            resource,
            storage=stored.objects,
            cache=stored.cache,
            strategy=stored.strategy,
            struct=struct(resource.definition) if resource.definition else None,
            to_storage=to_storage,
            from_storage=from_storage,
            field_labels=self._kinds.field_labels(resource),
            spec_facts=self._spec_facts,
        )

    def _codec(self, resource: Resource, strategy: Strategy) -> StorageCodec:
        return StorageCodec(
            resource.kind,
            resource.storage_api_version,
            stored_version=resource.stored_api_version,
            media_type=self._storage_media_type,
            default=strategy.default,
            conversions=self._kinds.readable_versions(resource),
        )

    def _lifetimes(self, resource: Resource) -> Lifetimes | None:
        ttl_seconds = self._kinds.ttl_seconds(resource)
        store = store_of(self.store, f"{resource.key_prefix}/")
        return None if ttl_seconds is None else Lifetimes(store, self.clock, ttl_seconds=ttl_seconds)

    def siblings(self, served: ServedResource) -> dict[str, ServedResource]:
        """Return the resource in all versions in which it is served, by apiVersion."""
        prefix = served.cache.prefix
        keys = [key for key, r in self._built_in.items() if f"{r.key_prefix}/" == prefix]
        resources: list[Any] = [self.get(*key) for key in keys] or [
            other for other in self._served.values() if other.cache is served.cache
        ]
        return {other.resource.api_version: other for other in resources}
