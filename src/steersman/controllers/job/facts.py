"""Properties of Jobs and their Pods: completion modes, indexes, failure counts. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.client.objects import annotations_of
from steersman.controllers.job.policies import FAIL_INDEX, match_failure
from steersman.runtime.conditions import is_condition_true
from steersman.runtime.finalizers import is_being_deleted
from steersman.workloads.pods import phase_of

if TYPE_CHECKING:
    from lightkube.models.batch_v1 import Job, JobSpec
    from lightkube.models.core_v1 import Pod

TRACKING: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
#: Value of ``spec.managedBy`` for this controller, equivalent to an unset field.
BUILT_IN: Final = "kubernetes.io/job-controller"

SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"
COMPLETE: Final = "Complete"
FAILURE_TARGET: Final = "FailureTarget"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"

MODES: Final = ("NonIndexed", "Indexed")


def spec_of(job: Job) -> JobSpec:
    """Return ``spec``, which every Job has."""
    assert job.spec is not None
    return job.spec


def is_indexed(job: Job) -> bool:
    """Report whether the Job is Indexed: each index succeeds once."""
    return spec_of(job).completionMode == "Indexed"


def is_suspended(job: Job) -> bool:
    """Report whether the Job is suspended."""
    return bool(spec_of(job).suspend)


def is_finished(job: Job) -> bool:
    """Report whether the Job is complete or failed."""
    conditions = job.status.conditions if job.status else None
    return is_condition_true(conditions, COMPLETE) or is_condition_true(conditions, FAILED)


def is_managed_by_another(job: Job) -> bool:
    """Report whether ``spec.managedBy`` names another controller."""
    return spec_of(job).managedBy not in (None, BUILT_IN)


def counts_per_index(job: Job) -> bool:
    """Report whether each index has a separate backoff limit."""
    return is_indexed(job) and spec_of(job).backoffLimitPerIndex is not None


def waits_for_the_end(job: Job) -> bool:
    """Report whether a Pod is replaced only after it has terminated, not when it is terminating."""
    spec = spec_of(job)
    if spec.podReplacementPolicy is not None:
        return spec.podReplacementPolicy == "Failed"
    return spec.podFailurePolicy is not None


def has_succeeded(pod: Pod) -> bool:
    """Report whether the Pod's phase is ``Succeeded``."""
    return phase_of(pod) == "Succeeded"


def has_failed(pod: Pod, job: Job) -> bool:
    """Report whether the Pod counts as failed: a deleted one does, unless the Job waits for its end."""
    if phase_of(pod) == "Failed":
        return True
    return not waits_for_the_end(job) and is_being_deleted(pod) and not has_succeeded(pod)


def _number(pod: Pod, annotation: str) -> int | None:
    text = annotations_of(pod).get(annotation, "")
    return int(text) if text.isascii() and text.isdigit() else None


def index_of(pod: Pod) -> int | None:
    """Return the completion index; None without one."""
    return _number(pod, INDEX)


def index_in(pod: Pod, job: Job) -> int | None:
    """Return the completion index if it is below the Job's completions."""
    index = index_of(pod)
    return index if index is not None and index < (spec_of(job).completions or 0) else None


def failures_of_index(pod: Pod) -> int:
    """Return the failures of the index before this Pod."""
    return _number(pod, INDEX_FAILURES) or 0


def all_failures_of_index(pod: Pod) -> int:
    """Return the failures of the index, including those ignored by a failure policy."""
    return failures_of_index(pod) + (_number(pod, INDEX_IGNORED_FAILURES) or 0)


def fails_its_index(pod: Pod, job: Job) -> bool:
    """Report whether this failure exceeds the index's backoff limit."""
    if not has_failed(pod, job):
        return False
    matched_rule = match_failure(spec_of(job).podFailurePolicy, pod)
    if matched_rule.action == FAIL_INDEX:
        return True
    return matched_rule.counts and failures_of_index(pod) >= (spec_of(job).backoffLimitPerIndex or 0)


def next_failures(last: Pod | None, job: Job) -> tuple[int, int]:
    """Return failures and ignored failures for the annotations of the index's next Pod."""
    if last is None:
        return 0, 0
    counted = failures_of_index(last)
    ignored = all_failures_of_index(last) - counted
    if match_failure(spec_of(job).podFailurePolicy, last).counts:
        return counted + 1, ignored
    return counted, ignored + 1
