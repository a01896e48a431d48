"""Metrics of controllers: client-go's work queue metrics and controller-runtime's reconcile metrics."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from steersman.client.sending import NoMetrics as NoClientMetrics
from steersman.client.workqueue.metrics import NoMetrics as NoQueueMetrics
from steersman.client.workqueue.prometheus import QueueMetricsFamilies
from steersman.runtime.client_metrics import PrometheusClientMetrics
from steersman.runtime.heartbeat_metrics import PrometheusHeartbeatMetrics

if TYPE_CHECKING:
    from steersman.client.leaderelection import LeaderElector
    from steersman.client.sending import ClientMetrics
    from steersman.client.workqueue.metrics import QueueMetrics
    from steersman.runtime.result import Outcome

#: Seconds, as controller-runtime's.
_BUCKETS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)


class RuntimeMetrics:
    """Metric families of one manager, in a separate registry."""

    def __init__(self, *, process: bool = True) -> None:
        """``process``: include the metrics of the process; False if the process exposes them elsewhere."""
        self.registry: Final = CollectorRegistry()
        self.queues: Final = QueueMetricsFamilies(self.registry)
        #: For the clients of the process: ``connect(metrics=metrics.client)``.
        self.client: ClientMetrics = PrometheusClientMetrics(self.registry)
        #: For the lease heartbeats of the process: ``LeaseHeartbeat(…, metrics=metrics.heartbeats)``.
        self.heartbeats: Final = PrometheusHeartbeatMetrics(self.registry)
        if process:
            ProcessCollector(registry=self.registry)
        one = ("controller",)
        self.total = Counter(
            "controller_runtime_reconcile_total",
            "Reconciles by result",
            ("controller", "result"),
            registry=self.registry,
        )
        self.errors = Counter(
            "controller_runtime_reconcile_errors_total", "Reconciles that raised", one, registry=self.registry
        )
        self.terminal_errors = Counter(
            "controller_runtime_terminal_reconcile_errors_total",
            "Reconciles that raised what trying again will not mend",
            one,
            registry=self.registry,
        )
        self.duration = Histogram(
            "controller_runtime_reconcile_time_seconds", "Seconds a reconcile took", one,
            registry=self.registry, buckets=_BUCKETS,
        )  # fmt: skip
        self.workers = Gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers of a controller", one, registry=self.registry
        )
        self.active = Gauge(
            "controller_runtime_active_workers", "Workers with a key in hand", one, registry=self.registry
        )
        self.is_leader = Gauge(
            "leader_election_master_status", "1 while this process leads", ("name",), registry=self.registry
        )

    def report_leadership(self, elector: LeaderElector) -> None:
        """Report whether the elector leads, under the name of its lock without the namespace, as client-go does."""
        series = self.is_leader.labels(elector.name.rpartition("/")[2])
        series.set_function(lambda: float(elector.is_leader))

    def queue(self, name: str) -> QueueMetrics:
        """Return the metrics of one work queue."""
        return self.queues.queue(name)

    def controller(self, name: str) -> ReconcileMetrics:
        """Return the metrics of one controller."""
        return PrometheusReconcileMetrics(self, name)


class UnexposedMetrics(RuntimeMetrics):
    """Metrics of a manager without a metrics page: those of queues, reconciles and requests are discarded."""

    def __init__(self) -> None:
        super().__init__(process=False)
        self.client = NoClientMetrics()

    def queue(self, name: str) -> QueueMetrics:
        """Return metrics that discard all observations."""
        return NoQueueMetrics()

    def controller(self, name: str) -> ReconcileMetrics:
        """Return metrics that discard all observations."""
        return NoReconcileMetrics()


class ReconcileMetrics(Protocol):
    """Receiver of the metrics of one controller."""

    def set_workers(self, count: int) -> None:
        """Set the number of workers."""

    def in_progress(self) -> AbstractContextManager[object]:
        """Count a worker as active in the block."""

    def done(self, outcome: Outcome, seconds: float) -> None:
        """Record the end of a reconcile."""


class NoReconcileMetrics:
    """``ReconcileMetrics`` that discards all observations."""

    def set_workers(self, count: int) -> None:
        """Do nothing."""

    def in_progress(self) -> AbstractContextManager[object]:
        """Do nothing."""
        return nullcontext()

    def done(self, outcome: Outcome, seconds: float) -> None:
        """Do nothing."""


class PrometheusReconcileMetrics:
    """Metrics of one controller in the registry of its manager."""

    def __init__(self, families: RuntimeMetrics, name: str) -> None:
        self._total = families.total
        self._name = name
        self._errors = families.errors.labels(name)
        self._terminal_errors = families.terminal_errors.labels(name)
        self._duration = families.duration.labels(name)
        self._workers = families.workers.labels(name)
        self._active = families.active.labels(name)

    def set_workers(self, count: int) -> None:
        """Set the number of workers."""
        self._workers.set(count)

    def in_progress(self) -> AbstractContextManager[object]:
        """Count a worker as active in the block."""
        return self._active.track_inprogress()

    def done(self, outcome: Outcome, seconds: float) -> None:
        """Record the end of a reconcile."""
        self._total.labels(self._name, outcome.value).inc()
        self._duration.observe(seconds)
        if outcome.is_error:
            self._errors.inc()
        if outcome.is_terminal:
            self._terminal_errors.inc()
