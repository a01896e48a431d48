"""Validation of Job statuses: contradicting fields and forbidden transitions. Upstream: ``ValidateJobStatusUpdate``.

Most rules apply only to changed fields: an invalid stored status does not block the next write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.timestamps import parse_time
from steersman.apiserver.kinds.batch.job.indexes import IndexesError, count_indexes, first_overlap
from steersman.apiserver.kinds.shared.conditions import true_conditions
from steersman.apiserver.kinds.shared.counts import check_none_negative
from steersman.apiserver.kinds.shared.go_form import go_form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_STATUS: Final = field.Path("status")
_CONDITIONS: Final = _STATUS.child("conditions")
_COUNTS: Final = ("active", "succeeded", "failed", "ready", "terminating")


class _Change:
    """Old and new status of a Job, with predicates of what changed."""

    def __init__(self, obj: Tree, old: Tree) -> None:
        self.spec: Tree = obj["spec"]
        self.status: Tree = obj.get("status") or {}
        self.before: Tree = old.get("status") or {}
        self._true = true_conditions(self.status)
        self._true_before = true_conditions(self.before)

    def has(self, type_: str) -> bool:
        return type_ in self._true

    def had(self, type_: str) -> bool:
        return type_ in self._true_before

    def turned(self, type_: str) -> bool:
        return self.has(type_) != self.had(type_)

    def changed(self, name: str, absent: Any = None) -> bool:
        return bool(self.status.get(name, absent) != self.before.get(name, absent))

    @property
    def is_finished(self) -> bool:
        return self.has("Complete") or self.has("Failed")

    @property
    def finishes(self) -> bool:
        return self.is_finished != (self.had("Complete") or self.had("Failed"))


def validate_job_status(obj: Tree, old: Tree) -> Iterator[FieldError]:
    """Validate an update of a Job's status."""
    change = _Change(obj, old)
    yield from check_none_negative(change.status, _COUNTS, _STATUS)
    yield from _check_uncounted(change.status)
    yield from _check_completion(change)
    yield from _check_finish(change)
    yield from _check_indexes(change)
    yield from _check_running(change)
    yield from _check_criteria(change)
    yield from _check_transitions(change)


def _contradiction_error(detail: str) -> FieldError:
    return field.invalid(_CONDITIONS, field.OMIT_VALUE, detail)


def _check_uncounted(status: Tree) -> Iterator[FieldError]:
    seen: set[str] = set()
    for kind in ("succeeded", "failed"):
        for position, uid in enumerate((status.get("uncountedTerminatedPods") or {}).get(kind) or ()):
            item_path = _STATUS.child("uncountedTerminatedPods", kind).index(position)
            if not uid:
                yield field.invalid(item_path, uid, "must not be empty")
            elif uid in seen:
                yield field.duplicate(item_path, uid)
            seen.add(uid)


def _check_completion(change: _Change) -> Iterator[FieldError]:
    complete = change.has("Complete")
    completes = change.turned("Complete")
    if (completes or change.turned("Failed")) and complete and change.has("Failed"):
        yield _contradiction_error("cannot set Complete=True and Failed=true conditions")
    if (completes or change.turned("FailureTarget")) and complete and change.has("FailureTarget"):
        yield _contradiction_error("cannot set Complete=True and FailureTarget=true conditions")
    end, path = change.status.get("completionTime"), _STATUS.child("completionTime")
    if completes or change.changed("completionTime"):
        if end is not None and not complete:
            yield field.invalid(path, end, "cannot set completionTime when there is no Complete=True condition")
        if end is None and complete:
            yield field.required(path, "completionTime is required for Complete jobs")
    start = change.status.get("startTime")
    times_change = change.changed("startTime") or change.changed("completionTime")
    if times_change and start and end and parse_time(end) < parse_time(start):
        yield field.invalid(path, end, "must be equal to or after `startTime`")


def _check_finish(change: _Change) -> Iterator[FieldError]:
    status, finished, finishes = change.status, change.is_finished, change.finishes
    for end, reason in (("Failed", "FailureTarget"), ("Complete", "SuccessCriteriaMet")):
        turned = change.turned(end) or change.turned(reason)
        if turned and change.has(end) and not change.has(reason):
            yield _contradiction_error(f"cannot set {end}=True condition without the {reason}=true condition")
    if not finished:
        return
    active = status.get("active") or 0
    if (finishes or change.changed("active", 0)) and active > 0:
        yield field.invalid(_STATUS.child("active"), active, "active>0 is invalid for finished job")
    never_ran = change.spec.get("suspend") and change.spec.get("completions") == 0
    if (finishes or change.changed("startTime")) and not never_ran and status.get("startTime") is None:
        yield field.required(_STATUS.child("startTime"), "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if (finishes or change.changed("uncountedTerminatedPods")) and any(uncounted.values()):
        path = _STATUS.child("uncountedTerminatedPods")
        yield field.invalid(path, go_form("UncountedTerminatedPods", uncounted), "must be empty for finished job")


def _check_indexes(change: _Change) -> Iterator[FieldError]:
    status, spec = change.status, change.spec
    done, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    done_changed, failed_changed = change.changed("completedIndexes", ""), change.changed("failedIndexes")
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex")
    done_path, failed_path = _STATUS.child("completedIndexes"), _STATUS.child("failedIndexes")
    if done_changed and completions is not None:
        yield from _check_set(done, completions, "completedIndexes")
    if failed_changed and None not in (completions, per_index, failed):
        yield from _check_set(failed or "", completions or 0, "failedIndexes")
    if done_changed and done and spec.get("completionMode") != "Indexed":
        yield field.invalid(done_path, done, "cannot set non-empty completedIndexes when non-indexed completion mode")
    if failed_changed and per_index is None and failed is not None:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield field.invalid(failed_path, failed, detail)
    if (done_changed or failed_changed) and completions is not None and failed is not None:
        index = first_overlap(done, failed, completions)
        if index is not None:
            detail = f"failedIndexes and completedIndexes overlap at index: {index}"
            yield field.invalid(failed_path, failed, detail)


def _check_set(text: str, completions: int, name: str) -> Iterator[FieldError]:
    try:
        count_indexes(text, completions)
    except IndexesError as error:
        yield field.invalid(_STATUS.child(name), text, f"error parsing {name}: {error}")


def _check_running(change: _Change) -> Iterator[FieldError]:
    status = change.status
    terminating = status.get("terminating") or 0
    if (change.finishes or change.changed("terminating")) and terminating > 0 and change.is_finished:
        path = _STATUS.child("terminating")
        yield field.invalid(path, terminating, "terminating>0 is invalid for finished job")
    ready, active = status.get("ready"), status.get("active") or 0
    if (change.changed("ready") or change.changed("active", 0)) and ready is not None and ready > active:
        yield field.invalid(_STATUS.child("ready"), ready, "cannot set more ready pods than active")


def _check_criteria(change: _Change) -> Iterator[FieldError]:
    is_success_criteria_met = change.has("SuccessCriteriaMet")
    if is_success_criteria_met and change.has("Failed"):
        yield _contradiction_error("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if is_success_criteria_met and change.has("FailureTarget"):
        yield _contradiction_error("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if not is_success_criteria_met and change.spec.get("successPolicy") is not None and change.has("Complete"):
        yield _contradiction_error("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def _check_transitions(change: _Change) -> Iterator[FieldError]:
    status, before, spec = change.status, change.before, change.spec
    for type_ in ("Failed", "Complete", "FailureTarget"):
        if change.had(type_) and not change.has(type_):
            yield _contradiction_error(f"cannot disable the terminal {type_}=True condition")
    # an elastic Indexed Job may scale below its number of succeeded indexes
    is_elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for name in ("failed",) if is_elastic else ("failed", "succeeded"):
        count = status.get(name) or 0
        if count < (before.get(name) or 0):
            yield field.invalid(_STATUS.child(name), count, f"cannot decrease the {name} counter")
    end, start = status.get("completionTime"), status.get("startTime")
    if end is not None and before.get("completionTime") not in (None, end):
        yield field.invalid(_STATUS.child("completionTime"), end, "field is immutable")
    if before.get("startTime") not in (None, start) and not spec.get("suspend"):
        path = _STATUS.child("startTime")
        if start is None:
            yield field.required(path, "startTime cannot be removed for unsuspended job")
        else:
            yield field.invalid(path, start, "field is immutable for unsuspended job once set")
    if change.had("SuccessCriteriaMet") and not change.has("SuccessCriteriaMet"):
        yield _contradiction_error("cannot disable the SuccessCriteriaMet=True condition")
    if change.had("Complete") and change.has("SuccessCriteriaMet") and not change.had("SuccessCriteriaMet"):
        yield _contradiction_error("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
