"""Metrics of stored objects, under upstream's names."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeGuard

from steersman.apimachinery.cache_sizes import cache_sizes
from steersman.apiserver.observability.metrics import Family, counter, gauge
from steersman.storage.etcd.request_metrics import BUCKETS, merged
from steersman.storage.partitions import parts_of
from steersman.storage.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.observability.metrics import Labels
    from steersman.storage.etcd.request_metrics import RequestMetrics
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
        counts = [
            ((("group", served.resource.group), ("resource", served.resource.name)), len(served.cache))
            for served in caches.values()
        ]
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
                "apiserver_storage_decode_error_total",
                "Stored objects that could not be read, by resource.",
                [
                    ((("group", served.resource.group), ("resource", served.resource.name)), served.cache.decode_errors)
                    for served in {served.cache.prefix: served for served in self._registry.in_use()}.values()
                    if served.cache.decode_errors
                ],
            ),
            gauge("apiserver_resource_objects", "Objects that are stored, by resource.", counts),
            *self._etcd_requests(),
        ]

    def _etcd_requests(self) -> list[Family]:
        """Return the metrics of requests to etcd; none for the embedded stores."""
        clusters = [each.request_metrics for each in map(_unencrypted, parts_of(self._store)) if _is_etcd(each)]
        if not clusters:
            return []
        resources = {served.cache.prefix: served.resource for served in self._registry.in_use()}
        requests: dict[Labels, float] = {}
        errors: dict[Labels, float] = {}
        histogram: list[tuple[str, Labels, float]] = []
        for (operation, folder), durations in sorted(merged(clusters).items()):
            resource = resources.get(folder)
            group, name = (resource.group, resource.name) if resource else ("", folder.strip("/").rpartition("/")[2])
            labels = (("operation", operation), ("group", group), ("resource", name))
            requests[labels] = durations.requests
            if durations.errors:
                errors[labels] = durations.errors
            total = 0
            for bound, count in zip((*(f"{bucket:g}" for bucket in BUCKETS), "+Inf"), durations.counts, strict=True):
                total += count
                histogram.append(("_bucket", (*labels, ("le", bound)), total))
            histogram += [("_sum", labels, durations.total_seconds), ("_count", labels, total)]
        return [
            counter("etcd_requests_total", "Requests to etcd, by operation and resource.", requests.items()),
            counter("etcd_request_errors_total", "Failed requests to etcd, by operation and resource.", errors.items()),
            Family(
                "etcd_request_duration_seconds",
                "histogram",
                "Duration of requests to etcd in seconds, by operation and resource.",
                histogram,
            ),
        ]

    async def _size_bytes(self) -> list[tuple[Labels, float]]:
        """Return the size of each cluster, but of those that do not answer: other metrics are still of use then."""
        sizes: list[tuple[Labels, float]] = []
        for number, store in enumerate(parts_of(self._store)):
            with suppress(StoreError):
                sizes.append(((("storage_cluster_id", f"etcd-{number}"),), await store.size_bytes()))
        return sizes


def _unencrypted(store: Store) -> Store:
    inner: Store = getattr(store, "inner", store)  # an EncryptedStore, whose module loads cryptography
    return inner


def _is_etcd(store: Store) -> TypeGuard[_EtcdStore]:
    return hasattr(store, "request_metrics")
