"""Status of a Job, and the Pods to remove the tracking finalizer from. Pure rules (KEP-2307).

A Pod keeps a finalizer until the status counts it. The order is: add the Pod's UID to ``uncountedTerminatedPods``;
remove the finalizer; move the UID from the list into the counter. After a failure at any point the next reconcile
continues, and nothing is counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lightkube.models.batch_v1 import JobStatus, UncountedTerminatedPods

from steersman.client.objects import uid_of
from steersman.controllers.job import facts
from steersman.controllers.job.indexes import Indexes
from steersman.controllers.job.plan import condition
from steersman.controllers.job.policies import match_failure
from steersman.runtime.conditions import find_condition, is_condition_true
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.structs import replaced

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from lightkube.models.batch_v1 import Job, JobCondition
    from lightkube.models.core_v1 import Pod

    from steersman.controllers.job.observed import Observed

#: Maximum number of UIDs in a status, so that it does not grow too large.
UNCOUNTED_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class Accounting:
    """First status to write, Pods to remove the finalizer from, last status to write."""

    status: JobStatus
    to_untrack: tuple[Pod, ...]
    #: Final condition, written once all Pods are counted and terminated.
    final: JobCondition | None
    #: Actions of the rules of the failure policy that matched the newly counted failures.
    policy_actions: tuple[str, ...] = ()


def account(seen: Observed, status: JobStatus, ending: JobCondition | None, *, now: datetime) -> Accounting:
    """Return the status except for uncounted Pods; ``ending`` is the result of ``finish_condition``, or None."""
    tracked = {uid_of(pod) for pod in seen.tracked}
    status = settle(status, tracked)
    uncounted = status.uncountedTerminatedPods or UncountedTerminatedPods()
    succeeded, failed = list(uncounted.succeeded or ()), list(uncounted.failed or ())
    new_indexes: set[int] = set()
    to_untrack: list[Pod] = []
    actions: list[str] = []
    full = False
    failing = ending is not None and ending.type == facts.FAILURE_TARGET
    for pod in _in_order(seen):
        if not _may_go(seen, pod, ending):
            continue
        if len(new_indexes) + len(succeeded) + len(failed) >= UNCOUNTED_MAX:
            full = True
            break
        to_untrack.append(pod)
        if facts.has_succeeded(pod) and uid_of(pod) not in failed:
            _count_success(seen, pod, succeeded, new_indexes)
        elif (facts.has_failed(pod, seen.job) or failing) and uid_of(pod) not in failed and _is_valid(seen, pod):
            matched = match_failure(facts.spec_of(seen.job).podFailurePolicy, pod)
            actions += [matched.action] if matched.action else []
            failed += [uid_of(pod)] if matched.counts else []
    status = replaced(status, uncountedTerminatedPods=_uncounted(succeeded, failed))
    status = _with_indexes(seen, status, new_indexes)
    if ending is not None and not is_condition_true(status.conditions, ending.type):
        status = replaced(status, conditions=[*(status.conditions or ()), ending])
    final = None if ending is None or full else _final(ending, now)
    return Accounting(status, tuple(to_untrack), final, tuple(actions))


def _in_order(seen: Observed) -> Sequence[Pod]:
    if not facts.is_indexed(seen.job):
        return seen.tracked
    return sorted(seen.tracked, key=lambda pod: -1 if (index := facts.index_of(pod)) is None else index)


def _may_go(seen: Observed, pod: Pod, ending: JobCondition | None) -> bool:
    if is_being_deleted(seen.job) or ending is not None or facts.has_succeeded(pod):
        return True
    if not facts.has_failed(pod, seen.job):
        return False
    index = facts.index_of(pod)
    return index is None or (last := seen.last_failed.get(index)) is None or uid_of(last) != uid_of(pod)


def _count_success(seen: Observed, pod: Pod, succeeded: list[str], new_indexes: set[int]) -> None:
    if not facts.is_indexed(seen.job):
        if uid_of(pod) not in succeeded:
            succeeded.append(uid_of(pod))
        return
    index = facts.index_in(pod, seen.job)
    if index is not None and index not in seen.recorded_indexes:
        new_indexes.add(index)


def _is_valid(seen: Observed, pod: Pod) -> bool:
    return not facts.is_indexed(seen.job) or facts.index_in(pod, seen.job) is not None


def _with_indexes(seen: Observed, status: JobStatus, new: Collection[int]) -> JobStatus:
    if not facts.is_indexed(seen.job):
        return status
    done = seen.recorded_indexes | Indexes.of(new)
    failed = seen.failed_indexes
    return replaced(
        status,
        succeeded=len(done) or None,
        completedIndexes=str(done) or None,
        failedIndexes=None if failed is None else str(failed),
    )


def _final(ending: JobCondition, now: datetime) -> JobCondition:
    type_ = facts.COMPLETE if ending.type == facts.SUCCESS_CRITERIA_MET else facts.FAILED
    return condition(type_, ending.reason or "", ending.message or "", now=now)


def _uncounted(succeeded: Sequence[str], failed: Sequence[str]) -> UncountedTerminatedPods:
    return UncountedTerminatedPods(succeeded=list(succeeded) or None, failed=list(failed) or None)


def settle(status: JobStatus, tracked: Collection[str]) -> JobStatus:
    """Count uncounted Pods without a finalizer (``tracked`` ones have it)."""
    uncounted = status.uncountedTerminatedPods or UncountedTerminatedPods()
    succeeded, failed = uncounted.succeeded or (), uncounted.failed or ()
    still_succeeded = [uid for uid in succeeded if uid in tracked]
    still_failed = [uid for uid in failed if uid in tracked]
    return replaced(
        status,
        uncountedTerminatedPods=_uncounted(still_succeeded, still_failed),
        succeeded=((status.succeeded or 0) + len(succeeded) - len(still_succeeded)) or None,
        failed=((status.failed or 0) + len(failed) - len(still_failed)) or None,
    )


def finish(status: JobStatus, final: JobCondition | None) -> JobStatus:
    """Return the status of a finished Job; unchanged while Pods are uncounted or terminating (KEP-3939)."""
    uncounted = status.uncountedTerminatedPods
    if final is None or status.terminating or (uncounted and (uncounted.succeeded or uncounted.failed)):
        return status
    done = replaced(status, conditions=[*(status.conditions or ()), final])
    return replaced(done, completionTime=final.lastTransitionTime) if final.type == facts.COMPLETE else done


def end_events(job: Job) -> list[tuple[str, str, str]]:
    """Return type, reason and message of the events of a finished Job."""
    conditions = job.status.conditions if job.status else None
    if is_condition_true(conditions, facts.COMPLETE):
        completions = facts.spec_of(job).completions
        succeeded = (job.status.succeeded if job.status else None) or 0
        done = ("Normal", "Completed", "Job completed")
        if completions is None or succeeded <= completions:
            return [done]
        return [
            ("Warning", "TooManySucceededPods", "Too many succeeded pods running after completion count reached"),
            done,
        ]
    failed = find_condition(conditions, facts.FAILED)
    if failed is None or failed.status != "True":
        return []
    return [("Warning", failed.reason or "", failed.message or "")]


def with_suspension(status: JobStatus, *, suspended: bool, now: datetime) -> tuple[JobStatus, str]:
    """Return the status with the condition ``Suspended``, and the event if it changed.

    A suspended Job has no start time: its deadline restarts on resume.
    """
    if suspended:
        status = replaced(status, startTime=None)
    old = find_condition(status.conditions, facts.SUSPENDED)
    suspended_status = "True" if suspended else "False"
    if (old is None and not suspended) or (old is not None and old.status == suspended_status):
        return status, ""
    event = "Suspended" if suspended else "Resumed"
    new = condition(facts.SUSPENDED, f"Job{event}", f"Job {event.lower()}", now=now, status=suspended_status)
    conditions = [new if condition.type == facts.SUSPENDED else condition for condition in status.conditions or ()]
    status = replaced(status, conditions=conditions if old is not None else [*conditions, new])
    return (status if suspended else replaced(status, startTime=now)), event
