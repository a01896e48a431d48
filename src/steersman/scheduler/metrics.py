"""Metrics of the scheduler, under kube-scheduler's names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from steersman.apimachinery.histogram import Histogram, exponential_bounds
from steersman.scheduler.core import AssumedPod

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import Metric

    from steersman.scheduler.core import UnschedulablePod
    from steersman.scheduler.profile import Profile
    from steersman.scheduler.queue import SchedulingQueue
    from steersman.scheduler.snapshot import Snapshot

#: Results of attempts.
_SCHEDULED: Final = "scheduled"
_UNSCHEDULABLE: Final = "unschedulable"
_ERROR: Final = "error"
_ALGORITHM_BUCKETS: Final = exponential_bounds(0.001, 2, 15)
_ATTEMPT_BUCKETS: Final = exponential_bounds(0.0001, 2, 16)
_PLACING_BUCKETS: Final = exponential_bounds(0.01, 2, 20)
_TRIES_BUCKETS: Final = exponential_bounds(1, 2, 5)
_VICTIMS_BUCKETS: Final = exponential_bounds(1, 2, 7)


class SchedulerMetrics(Collector):
    """Collector that keeps plain numbers and builds the metric families per scrape."""

    def __init__(self, queue: SchedulingQueue, cluster: Snapshot, profiles: Iterable[str]) -> None:
        self._queue = queue
        self._cluster = cluster
        results = [(result, profile) for profile in profiles for result in (_SCHEDULED, _UNSCHEDULABLE, _ERROR)]
        self._attempts: dict[tuple[str, str], int] = dict.fromkeys(results, 0)
        self._seconds = {labels: Histogram(_ATTEMPT_BUCKETS) for labels in results}
        self._algorithm = Histogram(_ALGORITHM_BUCKETS)
        self._placing = Histogram(_PLACING_BUCKETS)
        self._tries = Histogram(_TRIES_BUCKETS)
        self._preemptions = 0
        self._victims = Histogram(_VICTIMS_BUCKETS)

    def decided(self, result: AssumedPod | UnschedulablePod, seconds: float) -> None:
        """Record a scheduling cycle of ``seconds``. The attempt of a pod that has a node ends with its binding."""
        if isinstance(result, AssumedPod):
            self._algorithm.observe(seconds)
            return
        self._attempted(_ERROR if result.is_fault else _UNSCHEDULABLE, result.profile, seconds)
        if result.victims is not None:
            self._preemptions += 1
            self._victims.observe(len(result.victims.pods))

    def bound(self, placed: AssumedPod, *, started: float, now: float) -> None:
        """Record a bound pod at ``now``; its attempt started at ``started``, in seconds of the queue's clock."""
        self._attempted(_SCHEDULED, placed.profile, now - started)
        self._placing.observe(max(0.0, now - placed.queued.since))
        self._tries.observe(placed.queued.attempts)

    def not_bound(self, placed: AssumedPod, seconds: float) -> None:
        """Record an attempt of ``seconds`` whose binding failed."""
        self._attempted(_ERROR, placed.profile, seconds)

    def _attempted(self, result: str, profile: Profile, seconds: float) -> None:
        self._attempts[result, profile.name] += 1
        self._seconds[result, profile.name].observe(seconds)

    def collect(self) -> Iterable[Metric]:
        attempts = CounterMetricFamily(
            "scheduler_schedule_attempts", "Attempts to schedule pods, by result.", labels=["result", "profile"]
        )
        seconds = HistogramMetricFamily(
            "scheduler_scheduling_attempt_duration_seconds", "Length of attempts.", labels=["result", "profile"]
        )
        for labels, count in self._attempts.items():
            attempts.add_metric(labels, count)
            durations = self._seconds[labels]
            seconds.add_metric(labels, durations.buckets(), durations.total)
        yield attempts
        yield seconds
        algorithm = HistogramMetricFamily(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Length of scheduling cycles that found a node.",
            labels=[],
        )
        algorithm.add_metric([], self._algorithm.buckets(), self._algorithm.total)
        yield algorithm
        placing = HistogramMetricFamily(
            "scheduler_pod_scheduling_sli_duration_seconds", "From a pod's coming to its binding.", labels=[]
        )
        placing.add_metric([], self._placing.buckets(), self._placing.total)
        yield placing
        pending = GaugeMetricFamily(
            "scheduler_pending_pods", "Pods without a node, by where they wait.", labels=["queue"]
        )
        for name, count in self._queue.counts().items():
            pending.add_metric([name], count)
        yield pending
        yield from self._of_queues()
        yield self._cache_sizes()
        tries = HistogramMetricFamily(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was scheduled.", labels=[]
        )
        tries.add_metric([], self._tries.buckets(), self._tries.total)
        yield tries
        victims = HistogramMetricFamily("scheduler_preemption_victims", "Victims of each preemption.", labels=[])
        victims.add_metric([], self._victims.buckets(), self._victims.total)
        yield victims
        preemptions = CounterMetricFamily("scheduler_preemption_attempts", "Preemptions so far.")
        preemptions.add_metric([], self._preemptions)
        yield preemptions

    def _of_queues(self) -> Iterable[Metric]:
        incoming = CounterMetricFamily(
            "scheduler_queue_incoming_pods", "Pods that entered a queue, by event.", labels=["event", "queue"]
        )
        for (event, queue), count in self._queue.incoming.items():
            incoming.add_metric([event, queue], count)
        yield incoming
        rejected: Counter[tuple[str, str]] = Counter()
        for queued in self._queue.unschedulable_pods():
            for plugin in queued.unschedulable_plugins:
                rejected[plugin, queued.pod.scheduler] += 1
        unschedulable = GaugeMetricFamily(
            "scheduler_unschedulable_pods",
            "Unschedulable pods by the plugin that rejected them.",
            labels=["plugin", "profile"],
        )
        for labels, count in rejected.items():
            unschedulable.add_metric(labels, count)
        yield unschedulable

    def _cache_sizes(self) -> Metric:
        sizes = GaugeMetricFamily("scheduler_cache_size", "Nodes, pods and assumed pods in the cache.", labels=["type"])
        for name, count in self._cluster.sizes().items():
            sizes.add_metric([name], count)
        return sizes
