"""Metrics of stored objects, under upstream's names."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeGuard

from steersman.apimachinery.cache_sizes import cache_sizes
from steersman.apiserver.observability.metrics import Family, counter, gauge, histogram
from steersman.storage.etcd.request_metrics import merged
from steersman.storage.partitions import parts_of
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from steersman.apimachinery.histogram import Histogram
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.apiserver.observability.metrics import Labels
    from steersman.storage.etcd.request_metrics import Durations, RequestMetrics
    from steersman.storage.store import Store


class _EtcdStore(Protocol):
    """An ``EtcdStore``, whose module needs an extra, as far as metrics read it."""

    @property
    def request_metrics(self) -> RequestMetrics: ...


class StorageMetrics:
    """Collector that reads store and caches on scrape."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry

    async def collect(self) -> Iterable[Family]:
        """Yield the size of the store, and the objects of each resource in use (others have not been read)."""
        caches = {served.cache.prefix: served for served in self._registry.in_use() if served.cache.is_ready}
        counts = [(_labels(served), len(served.cache)) for served in caches.values()]
        changes = sum(served.cache.ring.size_bytes for served in caches.values())
        objects = sum(len(entry.raw) for served in caches.values() for entry in served.cache.snapshot())
        return [
            gauge(
                "steersman_cache_bytes",
                "Bytes that caches hold: encoded objects, recent changes for watches (at most 16 MiB per resource), and estimates of others.",
                [
                    ((("cache", "objects"),), objects),
                    ((("cache", "changes"),), changes),
                    *(((("cache", name),), size) for name, size in sorted(cache_sizes().items())),
                ],
            ),
            gauge(
                "apiserver_storage_size_bytes",
                "Bytes that the store occupies.",
                await self._size_bytes(),
            ),
            counter(
                "apiserver_storage_decode_errors_total",
                "Stored objects that could not be read, by resource.",
                [
                    (_labels(served), served.cache.decode_errors)
                    for served in {served.cache.prefix: served for served in self._registry.in_use()}.values()
                    if served.cache.decode_errors
                ],
            ),
            gauge("apiserver_resource_objects", "Objects that are stored, by resource.", counts),
            gauge(
                "apiserver_storage_objects",
                "Objects that are stored, by group resource.",
                [((("resource", served.resource.group_resource),), len(served.cache)) for served in caches.values()],
            ),
            *_cache_families(list(caches.values())),
            *_watch_families(self._registry.in_use()),
            *self._etcd_requests(),
        ]

    def _etcd_requests(self) -> list[Family]:
        """Return the metrics of requests to etcd; none for the embedded stores."""
        clusters = [part.request_metrics for part in map(_unencrypted, parts_of(self._store)) if _is_etcd(part)]
        if not clusters:
            return []
        resources = {served.cache.prefix: served.resource for served in self._registry.in_use()}
        durations_by_labels: list[tuple[Labels, Durations]] = []
        for (operation, folder), durations in sorted(merged(clusters).items()):
            resource = resources.get(folder)
            group, name = (resource.group, resource.name) if resource else ("", folder.strip("/").rpartition("/")[2])
            labels = (("operation", operation), ("group", group), ("resource", name))
            durations_by_labels.append((labels, durations))
        return [
            counter(
                "etcd_requests_total",
                "Requests to etcd, by operation and resource.",
                [(labels, durations.histogram.count) for labels, durations in durations_by_labels],
            ),
            counter(
                "etcd_request_errors_total",
                "Failed requests to etcd, by operation and resource.",
                [(labels, durations.errors) for labels, durations in durations_by_labels if durations.errors],
            ),
            histogram(
                "etcd_request_duration_seconds",
                "Duration of requests to etcd in seconds, by operation and resource.",
                [(labels, durations.histogram) for labels, durations in durations_by_labels],
            ),
        ]

    async def _size_bytes(self) -> list[tuple[Labels, float]]:
        """Return the size of each cluster, but of those that do not answer: other metrics are still of use then."""
        sizes: list[tuple[Labels, float]] = []
        for number, store in enumerate(parts_of(self._store)):
            with suppress(StoreError):
                sizes.append(((("storage_cluster_id", f"etcd-{number}"),), await store.size_bytes()))
        return sizes


def _cache_families(resources: Sequence[ServedResource]) -> list[Family]:
    """Return the metrics of watch caches, by resource."""

    def samples(value: Callable[[WatchCache], float]) -> list[tuple[Labels, float]]:
        return [(_labels(served), value(served.cache)) for served in resources]

    events = samples(lambda cache: cache.counts.events)
    reads = [
        ((*labels, ("success", success), ("fallback", "false")), count)
        for success, value in (
            ("true", lambda cache: cache.counts.consistent_reads),
            ("false", lambda cache: cache.counts.failed_reads),
        )
        for labels, count in samples(value)
        if count
    ]
    return [
        gauge(
            "apiserver_resource_size_estimate_bytes",
            "Bytes of the encoded objects, by resource.",
            samples(lambda cache: sum(len(entry.raw) for entry in cache.snapshot())),
        ),
        counter("apiserver_storage_events_received_total", "Events of the store, by resource.", events),
        counter("apiserver_watch_cache_events_received_total", "Events that the watch cache received.", events),
        counter(
            "apiserver_watch_cache_events_dispatched_total",
            "Events that the watch cache passed on to watches.",
            samples(lambda cache: cache.counts.dispatched),
        ),
        counter(
            "apiserver_watch_cache_initializations_total",
            "How often the watch cache was filled.",
            samples(lambda cache: cache.counts.fills),
        ),
        gauge(
            "apiserver_watch_cache_resource_version",
            "Resource version of the watch cache.",
            samples(lambda cache: cache.revision),
        ),
        counter("apiserver_watch_cache_consistent_read_total", "Consistent reads from the watch cache.", reads),
        counter(
            "apiserver_init_events_total",
            "Objects and events that watches began with, by resource.",
            samples(lambda cache: cache.counts.init_events),
        ),
        histogram(
            "apiserver_watch_cache_read_wait_seconds",
            "Time that reads waited until the watch cache was fresh, in seconds.",
            [
                (_labels(served), served.cache.counts.read_waits)
                for served in resources
                if served.cache.counts.read_waits.count
            ],
        ),
        *_list_families(resources),
    ]


def _list_families(resources: Sequence[ServedResource]) -> list[Family]:
    """Return the metrics of lists from the watch cache and from the store; the cache has no indexes."""
    no_index = (("index", ""),)
    cached = [(_labels(served), served.cache.counts.lists) for served in resources if served.cache.counts.lists.lists]
    stored = [(_labels(served), served.cache.counts.store_lists) for served in resources]
    return [
        counter(
            "apiserver_cache_list_total",
            "Lists that the watch cache answered, by resource and index.",
            [((*labels, *no_index), counts.lists) for labels, counts in cached],
        ),
        counter(
            "apiserver_cache_list_fetched_objects_total",
            "Objects that lists read from the watch cache, by resource and index.",
            [((*labels, *no_index), counts.fetched) for labels, counts in cached],
        ),
        counter(
            "apiserver_cache_list_returned_objects_total",
            "Objects of lists that the watch cache answered, by resource.",
            [(labels, counts.returned) for labels, counts in cached],
        ),
        counter(
            "apiserver_storage_list_total",
            "Lists that the store answered, by resource.",
            [(labels, counts.lists) for labels, counts in stored],
        ),
        counter(
            "apiserver_storage_list_fetched_objects_total",
            "Objects that lists read from the store, by resource.",
            [(labels, counts.fetched) for labels, counts in stored],
        ),
        counter(
            "apiserver_storage_list_evaluated_objects_total",
            "Objects that lists from the store tested, by resource.",
            [(labels, counts.evaluated) for labels, counts in stored],
        ),
        counter(
            "apiserver_storage_list_returned_objects_total",
            "Objects of lists that the store answered, by resource.",
            [(labels, counts.returned) for labels, counts in stored],
        ),
    ]


def _watch_families(resources: Iterable[ServedResource]) -> list[Family]:
    """Return the metrics of watches, by resource and version."""
    sizes: list[tuple[Labels, Histogram]] = []
    durations: list[tuple[Labels, Histogram]] = []
    for served in resources:
        labels = (("group", served.resource.group), ("version", served.resource.version), _labels(served)[1])
        events = served.watch_counts.sizes
        if events.count:
            sizes.append((labels, events))
        durations += [
            ((*labels, ("scope", scope)), seconds) for scope, seconds in served.watch_counts.list_durations.items()
        ]
    return [
        counter(
            "apiserver_watch_events_total",
            "Events sent to watches, by resource and version.",
            [(labels, values.count) for labels, values in sizes],
        ),
        histogram("apiserver_watch_events_sizes", "Sizes of the events of watches in bytes.", sizes),
        histogram(
            "apiserver_watch_list_duration_seconds",
            "Time until the initial events of streaming lists were complete, in seconds.",
            durations,
        ),
    ]


def _labels(served: ServedResource) -> Labels:
    return (("group", served.resource.group), ("resource", served.resource.name))


def _unencrypted(store: Store) -> Store:
    inner: Store = getattr(store, "inner", store)  # an EncryptedStore, whose module loads cryptography
    return inner


def _is_etcd(store: Store) -> TypeGuard[_EtcdStore]:
    return hasattr(store, "request_metrics")
