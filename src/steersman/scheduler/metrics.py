"""Metrics of the scheduler, under kube-scheduler's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from steersman.apimachinery.histogram import Histogram, exponential_bounds
from steersman.scheduler.core import AssumedPod

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import Metric

    from steersman.scheduler.core import UnschedulablePod
    from steersman.scheduler.queue import SchedulingQueue

_ATTEMPT_BUCKETS: Final = exponential_bounds(0.0001, 2, 16)
_PLACING_BUCKETS: Final = exponential_bounds(0.01, 2, 20)
_TRIES_BUCKETS: Final = exponential_bounds(1, 2, 5)
_VICTIMS_BUCKETS: Final = exponential_bounds(1, 2, 7)


class SchedulerMetrics(Collector):
    """Collector that keeps plain numbers and builds the metric families per scrape."""

    def __init__(self, queue: SchedulingQueue, profiles: Iterable[str]) -> None:
        self._queue = queue
        results = [(result, profile) for profile in profiles for result in ("scheduled", "unschedulable")]
        self._attempts: dict[tuple[str, str], int] = dict.fromkeys(results, 0)
        self._seconds = {labels: Histogram(_ATTEMPT_BUCKETS) for labels in results}
        self._placing = Histogram(_PLACING_BUCKETS)
        self._tries = Histogram(_TRIES_BUCKETS)
        self._preemptions = 0
        self._victims = Histogram(_VICTIMS_BUCKETS)

    def attempted(self, result: AssumedPod | UnschedulablePod, seconds: float) -> None:
        """Record a scheduling attempt of ``seconds``."""
        labels = ("scheduled" if isinstance(result, AssumedPod) else "unschedulable", result.profile.name)
        self._attempts[labels] += 1
        self._seconds[labels].observe(seconds)
        if not isinstance(result, AssumedPod) and result.victims is not None:
            self._preemptions += 1
            self._victims.observe(len(result.victims.pods))

    def bound(self, placed: AssumedPod, now: float) -> None:
        """Record a bound pod at ``now``, in seconds of the queue's clock."""
        self._placing.observe(max(0.0, now - placed.queued.since))
        self._tries.observe(placed.queued.attempts)

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
