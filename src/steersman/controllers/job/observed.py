"""State of a Job and its Pods, counted. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steersman.client.objects import uid_of
from steersman.controllers.job import facts
from steersman.controllers.job.backoff import ended_at
from steersman.controllers.job.indexes import Indexes
from steersman.controllers.job.policies import match_failure
from steersman.runtime.finalizers import has_finalizer
from steersman.workloads.pods import is_active, is_ready, is_terminating

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from lightkube.models.batch_v1 import Job
    from lightkube.models.core_v1 import Pod

    from steersman.controllers.job.backoff import Failures


@dataclass(frozen=True, slots=True)
class Observed:
    """A Job and its Pods."""

    job: Job
    pods: tuple[Pod, ...]
    #: Pods with the finalizer, according to the cache and own writes.
    tracked: tuple[Pod, ...]
    active: tuple[Pod, ...]
    ready: int
    terminating: int
    #: Successes and failures, including uncounted ones.
    succeeded: int
    failed: int
    #: Including Pods that finished since the last reconcile.
    failures: Failures
    #: Succeeded indexes of an Indexed Job: in the status, and including later successes.
    recorded_indexes: Indexes
    succeeded_indexes: Indexes
    #: Failed indexes; None unless the Job has backoff limits per index.
    failed_indexes: Indexes | None
    #: Failed Pods by index, each preserved until its replacement records the failures of the index.
    last_failed: dict[int, Pod]


def observe(job: Job, pods: Sequence[Pod], *, untracked: Collection[str], failures: Failures) -> Observed:
    """Count the Pods of a Job. ``untracked``: UIDs of Pods whose finalizer was removed, possibly not yet in the cache."""
    tracked = tuple(pod for pod in pods if has_finalizer(pod, facts.TRACKING) and uid_of(pod) not in untracked)
    uncounted = job.status.uncountedTerminatedPods if job.status else None
    old_succeeded = set((uncounted.succeeded if uncounted else None) or ())
    old_failed = set((uncounted.failed if uncounted else None) or ())
    valid = [pod for pod in tracked if not facts.is_indexed(job) or facts.index_in(pod, job) is not None]
    new_succeeded = [pod for pod in valid if facts.has_succeeded(pod) and uid_of(pod) not in old_succeeded]
    new_failed = [pod for pod in valid if facts.has_failed(pod, job) and uid_of(pod) not in old_failed]
    policy = facts.spec_of(job).podFailurePolicy
    counted = [pod for pod in new_failed if match_failure(policy, pod).counts]
    recorded, indexes = _succeeded_indexes(job, tracked)
    failed_indexes = _failed_indexes(job, tracked)
    succeeded = ((job.status.succeeded if job.status else None) or 0) + len(old_succeeded) + len(new_succeeded)
    active = tuple(pod for pod in pods if is_active(pod))
    return Observed(
        job=job,
        pods=tuple(pods),
        tracked=tracked,
        active=active,
        ready=sum(map(is_ready, active)),
        terminating=sum(map(is_terminating, pods)),
        succeeded=len(indexes) if facts.is_indexed(job) else succeeded,
        failed=((job.status.failed if job.status else None) or 0) + len(old_failed) + len(counted),
        failures=failures.after(new_succeeded, new_failed),
        recorded_indexes=recorded,
        succeeded_indexes=indexes,
        failed_indexes=failed_indexes,
        last_failed={} if failed_indexes is None else _last_failed(job, tracked, active, indexes | failed_indexes),
    )


def _succeeded_indexes(job: Job, tracked: Sequence[Pod]) -> tuple[Indexes, Indexes]:
    if not facts.is_indexed(job):
        return Indexes(), Indexes()
    recorded = Indexes.parse(job.status.completedIndexes if job.status else None, facts.spec_of(job).completions or 0)
    new = (facts.index_in(pod, job) for pod in tracked if facts.has_succeeded(pod))
    return recorded, recorded | Indexes.of(index for index in new if index is not None)


def _failed_indexes(job: Job, tracked: Sequence[Pod]) -> Indexes | None:
    if not facts.counts_per_index(job):
        return None
    recorded = Indexes.parse(job.status.failedIndexes if job.status else None, facts.spec_of(job).completions or 0)
    new = (facts.index_in(pod, job) for pod in tracked if facts.fails_its_index(pod, job))
    return recorded | Indexes.of(index for index in new if index is not None)


def _last_failed(job: Job, tracked: Sequence[Pod], active: Sequence[Pod], ended: Indexes) -> dict[int, Pod]:
    """Return the last failed Pod of each index without an active Pod, whose annotations have the failures."""
    running = {facts.index_of(pod) for pod in active}
    last_failed: dict[int, Pod] = {}
    for pod in tracked:
        index = facts.index_in(pod, job)
        if index is None or index in running or index in ended or not facts.has_failed(pod, job):
            continue
        if index not in last_failed or _last(pod) >= _last(last_failed[index]):
            last_failed[index] = pod
    return last_failed


def _last(pod: Pod) -> tuple[object, ...]:
    return facts.all_failures_of_index(pod), ended_at(pod)
