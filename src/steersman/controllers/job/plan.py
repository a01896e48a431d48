"""Ending of a Job, and the Pods to create or delete. Pure rules of ``pkg/controller/job``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from lightkube.models.batch_v1 import JobCondition

from steersman.apimachinery.timestamps import add_seconds
from steersman.controllers.job import facts
from steersman.controllers.job.backoff import Failures, ended_at
from steersman.controllers.job.indexes import Indexes
from steersman.controllers.job.policies import match_failure, met_success_policy
from steersman.runtime.conditions import find_condition, is_condition_true
from steersman.workloads.pod_order import least_loss_first
from steersman.workloads.pods import is_terminating, phase_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from lightkube.models.batch_v1 import Job
    from lightkube.models.core_v1 import Pod

    from steersman.controllers.job.observed import Observed

#: Maximum number of Pods that one reconcile creates or deletes.
BURST: Final = 500


def condition(type_: str, reason: str, message: str, *, now: datetime, status: str = "True") -> JobCondition:
    """Return a condition with time ``now``."""
    return JobCondition(
        type=type_, status=status, reason=reason, message=message, lastProbeTime=now, lastTransitionTime=now
    )


# Ending


def finish_condition(seen: Observed, start: datetime | None, *, now: datetime) -> JobCondition | None:
    """Return the condition that announces how the Job ends; None while it runs.

    An announced ending is final. Failures precede successes, and the pod failure policy other failures.
    """
    conditions = seen.job.status.conditions if seen.job.status else None
    if is_condition_true(conditions, facts.SUCCESS_CRITERIA_MET):
        return find_condition(conditions, facts.SUCCESS_CRITERIA_MET)
    if is_condition_true(conditions, facts.FAILURE_TARGET):
        return find_condition(conditions, facts.FAILURE_TARGET)
    failure = _fails_by_policy(seen) or _fails_by_limits(seen, start, now) or _fails_by_indexes(seen)
    if failure:
        return condition(facts.FAILURE_TARGET, *failure, now=now)
    if facts.is_indexed(seen.job):
        spec = facts.spec_of(seen.job)
        message = met_success_policy(spec.successPolicy, seen.succeeded_indexes, spec.completions or 0)
        if message:
            return condition(facts.SUCCESS_CRITERIA_MET, "SuccessPolicy", message, now=now)
    return None


def _fails_by_policy(seen: Observed) -> tuple[str, str] | None:
    policy = facts.spec_of(seen.job).podFailurePolicy
    if policy is None:
        return None
    for pod in seen.pods:
        if facts.has_failed(pod, seen.job) and (message := match_failure(policy, pod).message):
            return "PodFailurePolicy", message
    return None


def _fails_by_limits(seen: Observed, start: datetime | None, now: datetime) -> tuple[str, str] | None:
    limit = facts.spec_of(seen.job).backoffLimit
    if limit is not None and (seen.failed > limit or _restarts_exceed(seen, limit)):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    seconds_left = seconds_to_deadline(seen.job, start, now=now)
    if seconds_left is not None and seconds_left <= 0:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    return None


def _restarts_exceed(seen: Observed, limit: int) -> bool:
    """Report whether container restarts exceed the limit; in-place restarts count as failures of the Pod."""
    template = facts.spec_of(seen.job).template.spec
    if template is None or template.restartPolicy != "OnFailure":
        return False
    restarts = sum(
        status.restartCount
        for pod in seen.pods
        if pod.status is not None and phase_of(pod) in ("Running", "Pending")
        for status in (*(pod.status.initContainerStatuses or ()), *(pod.status.containerStatuses or ()))
    )
    return bool(restarts >= max(limit, 1))


def seconds_to_deadline(job: Job, start: datetime | None, *, now: datetime) -> float | None:
    """Return the seconds until ``activeDeadlineSeconds``; None if it does not apply."""
    allowed = facts.spec_of(job).activeDeadlineSeconds
    if allowed is None or start is None or facts.is_suspended(job):
        return None
    return (add_seconds(start, allowed) - now).total_seconds()


def _fails_by_indexes(seen: Observed) -> tuple[str, str] | None:
    failed = seen.failed_indexes
    if failed is None or not failed.runs:
        return None
    spec = facts.spec_of(seen.job)
    if spec.maxFailedIndexes is not None and len(failed) > spec.maxFailedIndexes:
        return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
    if len(failed) + len(seen.succeeded_indexes) >= (spec.completions or 0):
        return "FailedIndexes", "Job has failed indexes"
    return None


def completion(seen: Observed, active: int, *, now: datetime) -> JobCondition | None:
    """Return the condition of a Job with enough successes and no active Pod."""
    completions = facts.spec_of(seen.job).completions
    enough = seen.succeeded > 0 if completions is None else seen.succeeded >= completions
    if not enough or active:
        return None
    message = "Reached expected number of succeeded pods"
    return condition(facts.SUCCESS_CRITERIA_MET, "CompletionsReached", message, now=now)


# Pods


@dataclass(frozen=True, slots=True)
class PodsPlan:
    """Pods to delete and create; with deletions nothing is created until the next sync."""

    delete: tuple[Pod, ...] = ()
    #: Completion index of each new Pod; None for a NonIndexed Job.
    create: tuple[int | None, ...] = ()
    #: Time at which a delayed Pod may be created.
    requeue_after_seconds: float | None = None


def plan_pods(seen: Observed, *, now: datetime) -> PodsPlan:
    """Return the Pods to create and delete for a running Job."""
    if facts.is_suspended(seen.job):
        return PodsPlan(delete=seen.active)
    desired_indexes = _desired_active(seen)
    surplus = _surplus(seen, max(0, len(seen.active) - desired_indexes))
    if surplus:
        return PodsPlan(delete=tuple(surplus[:BURST]))
    waiting = seen.terminating if facts.waits_for_the_end(seen.job) else 0
    missing = min(desired_indexes - waiting - len(seen.active), BURST)
    if missing <= 0:
        return PodsPlan()
    if facts.counts_per_index(seen.job):
        return _plan_indexes(seen, missing, now)
    seconds_left = seen.failures.seconds_left(now)
    if seconds_left > 0:
        return PodsPlan(requeue_after_seconds=seconds_left)
    if facts.is_indexed(seen.job):
        return PodsPlan(create=tuple(islice(_pending(seen), missing)))
    return PodsPlan(create=(None,) * missing)


def _desired_active(seen: Observed) -> int:
    """Return the desired number of active Pods."""
    spec = facts.spec_of(seen.job)
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        # One success suffices: running Pods may finish, no others are created.
        return len(seen.active) if seen.succeeded > 0 else parallelism
    return max(0, min(spec.completions - seen.succeeded, parallelism))


def _surplus(seen: Observed, at_least: int) -> list[Pod]:
    """Return Pods to delete: those without a valid index first, then in the order of ``pod_order``."""
    surplus, rest = _misplaced(seen) if facts.is_indexed(seen.job) else ([], list(seen.active))
    if len(surplus) < at_least:
        surplus += least_loss_first(rest)[: at_least - len(surplus)]
    return surplus


def _misplaced(seen: Observed) -> tuple[list[Pod], list[Pod]]:
    """Return active Pods with an invalid, succeeded or duplicated index, and the rest."""
    by_index: dict[int, list[Pod]] = {}
    wrong: list[Pod] = []
    for pod in seen.active:
        index = facts.index_in(pod, seen.job)
        if index is None or index in seen.succeeded_indexes:
            wrong.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    right: list[Pod] = []
    for _, pods in sorted(by_index.items()):
        *duplicates, last = least_loss_first(pods)
        wrong += duplicates
        right.append(last)
    return wrong, right


def _pending(seen: Observed) -> Iterable[int]:
    """Yield the indexes that need a Pod, in order."""
    present: Sequence[Pod] = seen.active
    if facts.waits_for_the_end(seen.job):
        present = [*present, *filter(is_terminating, seen.pods)]
    used_indexes = Indexes.of(index for pod in present if (index := facts.index_of(pod)) is not None)
    done = seen.succeeded_indexes | used_indexes | (seen.failed_indexes or Indexes())
    return done.missing(facts.spec_of(seen.job).completions or 0)


def _plan_indexes(seen: Observed, missing: int, now: datetime) -> PodsPlan:
    """Plan Pods by index, each with its own backoff; requeues when the first backoff ends."""
    at_once: list[int] = []
    waits: list[float] = []
    for index in islice(_pending(seen), missing):
        seconds_left = _seconds_left_of(seen.last_failed.get(index), now)
        if seconds_left > 0:
            waits.append(seconds_left)
        else:
            at_once.append(index)
    return PodsPlan(create=tuple(at_once), requeue_after_seconds=min(waits, default=None))


def _seconds_left_of(last: Pod | None, now: datetime) -> float:
    if last is None:
        return 0.0
    return Failures(facts.all_failures_of_index(last) + 1, ended_at(last)).seconds_left(now)
