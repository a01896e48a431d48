"""Metrics of the Job controller under upstream's names. Upstream: ``pkg/controller/job/metrics``."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from lightkube.models.batch_v1 import JobStatus
from prometheus_client import Counter, Histogram

from steersman.apimachinery.histogram import exponential_bounds
from steersman.client.changes import Added, Deleted, Updated
from steersman.controllers.job import facts
from steersman.controllers.job.indexes import Indexes
from steersman.runtime.finalizers import has_finalizer
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lightkube.models.batch_v1 import Job
    from lightkube.models.core_v1 import Pod
    from prometheus_client import CollectorRegistry

    from steersman.client.changes import Change
    from steersman.controllers.job.observed import Observed

#: Condition that ends a Job, to the label ``result``.
_RESULTS: Final = {facts.COMPLETE: "succeeded", facts.FAILED: "failed"}


#: Bounds of ``job_sync_duration_seconds``.
_SYNC_SECONDS: Final = exponential_bounds(0.004, 2, 15)


class SyncAction(StrEnum):
    """Action of a reconcile, the label ``action``. Upstream: ``JobSyncAction…``."""

    #: Expected creations or deletions of Pods have not been observed, or the Job has finished.
    RECONCILING = "reconciling"
    TRACKING = "tracking"
    PODS_CREATED = "pods_created"
    PODS_DELETED = "pods_deleted"


class JobSync:
    """A reconcile in progress."""

    __slots__ = ("action",)

    def __init__(self) -> None:
        self.action = SyncAction.RECONCILING


class JobMetrics:
    """Counters of Jobs, their Pods and their indexes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"job_controller_{name}", text, labels, registry=registry)

        self._jobs = counter("jobs_finished_total", "Jobs that have finished", "completion_mode", "result", "reason")
        self._pods = counter("job_pods_finished_total", "Pods that were counted", "completion_mode", "result")
        self._indexes = counter("job_finished_indexes_total", "Indexes that have finished", "status", "backoffLimit")
        self._creations = counter("job_pods_creation_total", "Pods created", "reason", "status")
        self._actions = counter(
            "pod_failures_handled_by_failure_policy_total", "Failed Pods that a rule of a policy matched", "action"
        )
        syncs = ("completion_mode", "result", "action")
        self._syncs = counter("job_syncs_total", "Reconciles of Jobs", *syncs)
        self._sync_seconds = Histogram(
            "job_controller_job_sync_duration_seconds", "Duration of a reconcile", syncs,
            buckets=_SYNC_SECONDS, registry=registry,
        )  # fmt: skip
        self._tracked = counter(
            "terminated_pods_tracking_finalizer_total",
            "Finished Pods that got or lost the tracking finalizer, or got the phase with it", "event",
        )  # fmt: skip

    @contextmanager
    def sync(self, job: Job, monotonic: Callable[[], float]) -> Iterator[JobSync]:
        """Count the block as a reconcile with the action that it sets; an exception is the result ``error``."""
        sync, result, started = JobSync(), "error", monotonic()
        try:
            yield sync
            result = "success"
        finally:
            labels = (_mode(job), result, sync.action.value)
            self._syncs.labels(*labels).inc()
            self._sync_seconds.labels(*labels).observe(monotonic() - started)

    def count_end(self, job: Job) -> None:
        """Count a finished Job by its condition."""
        for condition in (job.status.conditions if job.status else None) or ():
            if condition.type in _RESULTS and condition.status == "True":
                self._jobs.labels(_mode(job), _RESULTS[condition.type], condition.reason or "").inc()

    def count_status(self, job: Job, status: JobStatus) -> None:
        """Count the Pods and indexes by which a written ``status`` exceeds that of ``job``.

        Upstream: ``recordJobPodFinished``.
        """
        before = job.status or JobStatus()
        succeeded = (status.succeeded or 0) - (before.succeeded or 0)
        if facts.is_indexed(job):
            below = facts.spec_of(job).completions or 0
            limit = "perIndex" if facts.counts_per_index(job) else "global"
            succeeded = _added(before.completedIndexes, status.completedIndexes, below)
            failed_indexes = _added(before.failedIndexes, status.failedIndexes, below)
            _add(self._indexes.labels("succeeded", limit), succeeded)
            _add(self._indexes.labels("failed", limit), failed_indexes)
        _add(self._pods.labels(_mode(job), "succeeded"), succeeded)
        _add(self._pods.labels(_mode(job), "failed"), (status.failed or 0) - (before.failed or 0))

    def count_creations(self, seen: Observed, *, succeeded: int, failed: int) -> None:
        """Count created Pods, and creations that failed. Upstream: ``recordJobPodsCreationTotal``."""
        reason = "new"
        if facts.spec_of(seen.job).podReplacementPolicy == "Failed" and seen.failed:
            reason = "recreate_failed"
        elif seen.failed or seen.terminating:
            reason = "recreate_terminating_or_failed"
        _add(self._creations.labels(reason, "succeeded"), succeeded)
        _add(self._creations.labels(reason, "failed"), failed)

    def count_actions(self, actions: Iterable[str]) -> None:
        """Count failures by the action of the matching rule."""
        for action in actions:
            self._actions.labels(action).inc()

    def count_tracked(self, change: Change[Pod]) -> None:
        """Count a finished Pod that gets the tracking finalizer (``add``) or loses it (``delete``)."""
        match change:
            case Added(new=pod):
                was_tracked, is_tracked = False, _is_tracked(pod)
            case Updated(old=old, new=pod):
                was_tracked, is_tracked = _is_tracked(old), _is_tracked(pod)
            case Deleted(old=pod):
                was_tracked, is_tracked = _is_tracked(pod), False
        if was_tracked != is_tracked:
            self._tracked.labels("add" if is_tracked else "delete").inc()


def _mode(job: Job) -> str:
    return facts.spec_of(job).completionMode or "NonIndexed"


def _added(before: str | None, after: str | None, below: int) -> int:
    return len(Indexes.parse(after, below)) - len(Indexes.parse(before, below))


def _add(counter: Counter, amount: int) -> None:
    """Add an amount; a smaller count, as of a Job with fewer completions, is not subtracted."""
    if amount > 0:
        counter.inc(amount)


def _is_tracked(pod: Pod) -> bool:
    return is_finished(pod) and has_finalizer(pod, facts.TRACKING)
