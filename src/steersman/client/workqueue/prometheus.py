"""Prometheus metrics of work queues, under client-go's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.client.workqueue.metrics import QueueMetrics

#: Seconds, from 10 ns to 1000 s. Upstream: ``ExponentialBuckets(10e-9, 10, 12)``.
_BUCKETS: Final = tuple(10.0**exponent for exponent in range(-8, 4))


class QueueMetricsFamilies:
    """Metric families of all queues in one registry; ``queue(name)`` returns the series of one queue."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        labels = ("name",)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"workqueue_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str) -> Histogram:
            return Histogram(f"workqueue_{name}", text, labels, registry=registry, buckets=_BUCKETS)

        self.depth = gauge("depth", "Keys that wait in the queue")
        self.unfinished = gauge("unfinished_work_seconds", "Seconds that keys now at work have taken, in sum")
        self.longest = gauge("longest_running_processor_seconds", "Seconds that the oldest key now at work has taken")
        self.queue_duration = histogram("queue_duration_seconds", "Seconds that a key waited before it was taken")
        self.work_duration = histogram("work_duration_seconds", "Seconds that the work on a key took")
        self.adds = Counter("workqueue_adds_total", "Keys added", labels, registry=registry)
        self.retries = Counter("workqueue_retries_total", "Keys added again later", labels, registry=registry)

    def queue(self, name: str) -> QueueMetrics:
        """Return the series labelled with ``name``; queues of one name share them."""
        return _PrometheusQueueMetrics(self, name)


class _PrometheusQueueMetrics:
    """Series of one queue."""

    def __init__(self, families: QueueMetricsFamilies, name: str) -> None:
        self._depth = families.depth.labels(name)
        self._unfinished = families.unfinished.labels(name)
        self._longest = families.longest.labels(name)
        self._waited = families.queue_duration.labels(name)
        self._worked = families.work_duration.labels(name)
        self._adds = families.adds.labels(name)
        self._retries = families.retries.labels(name)

    def watch(self, *, depth: Callable[[], int], unfinished: Callable[[], float], longest: Callable[[], float]) -> None:
        self._depth.set_function(depth)
        self._unfinished.set_function(unfinished)
        self._longest.set_function(longest)

    def added(self) -> None:
        self._adds.inc()

    def taken(self, waited_seconds: float) -> None:
        self._waited.observe(waited_seconds)

    def finished(self, worked_seconds: float) -> None:
        self._worked.observe(worked_seconds)

    def retried(self) -> None:
        self._retries.inc()
