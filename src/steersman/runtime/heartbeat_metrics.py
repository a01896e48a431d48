"""Prometheus metrics of lease heartbeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import CollectorRegistry, Metric

    from steersman.runtime.heartbeat import LeaseHeartbeat

_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


class PrometheusHeartbeatMetrics(Collector):
    """Implementation of ``runtime.heartbeat.HeartbeatMetrics``; one for all heartbeats of a process.

    Series are per namespace, so that a process with the heartbeats of thousands of nodes exports a few of them; the age
    is that of the oldest Lease of the namespace, computed at each scrape.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._duration = Histogram(
            "lease_heartbeat_renew_duration_seconds", "Duration of accepted creates and updates of Leases",
            ("namespace",), registry=registry, buckets=_BUCKETS,
        )  # fmt: skip
        self._failures = Counter(
            "lease_heartbeat_failures_total",
            "Failed attempts to renew a Lease, by operation (get, create, update, process_lease)",
            ("namespace", "operation"),
            registry=registry,
        )
        self._running: dict[LeaseHeartbeat, None] = {}
        registry.register(self)

    def started(self, heartbeat: LeaseHeartbeat) -> None:
        """Start exporting the age of the Lease."""
        self._running[heartbeat] = None

    def stopped(self, heartbeat: LeaseHeartbeat) -> None:
        """Stop exporting the age of the Lease."""
        self._running.pop(heartbeat, None)

    def renewed(self, *, namespace: str, duration_seconds: float) -> None:
        """Count a renewal."""
        self._duration.labels(namespace).observe(duration_seconds)

    def failed(self, *, namespace: str, operation: str) -> None:
        """Count a failed attempt."""
        self._failures.labels(namespace, operation).inc()

    def collect(self) -> Iterable[Metric]:
        """Yield the gauge of the ages."""
        oldest: dict[str, float] = {}
        for heartbeat in self._running:
            namespace = heartbeat.namespace
            oldest[namespace] = max(oldest.get(namespace, 0.0), heartbeat.age_seconds)
        family = GaugeMetricFamily(
            "lease_heartbeat_age_seconds", "Seconds since the least recent renewal of a Lease", labels=("namespace",)
        )
        for namespace, seconds in oldest.items():
            family.add_metric((namespace,), seconds)
        yield family

    def describe(self) -> Iterable[Metric]:
        """Yield the gauge without samples, for the registry's check of names."""
        yield GaugeMetricFamily("lease_heartbeat_age_seconds", "", labels=("namespace",))
