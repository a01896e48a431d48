"""Status of a CronJob from its Jobs, and the next start. Pure rules of ``pkg/controller/cronjob``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from lightkube.models.batch_v1 import CronJobStatus, Job
from lightkube.models.core_v1 import ObjectReference
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference

from steersman.apimachinery.gotext import quote
from steersman.apimachinery.schedules import Schedule, ScheduleError, load_zone, parse_schedule
from steersman.apimachinery.timestamps import add_seconds, format_time
from steersman.client.objects import (
    annotations_of,
    labels_of,
    metadata_field,
    name_of,
    namespace_of,
    resource_version_of,
    uid_of,
)
from steersman.controllers.cronjob.missed import NoOccurrence, find_due, next_start
from steersman.runtime.conditions import find_condition, is_condition_true
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.owners import controller_reference
from steersman.runtime.structs import replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.batch_v1 import CronJob, CronJobSpec

SCHEDULED_AT: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
#: Cached, because a CronJob is reconciled several times for each of its Jobs.
_parse_schedule: Final = lru_cache(maxsize=1024)(parse_schedule)


@dataclass(frozen=True, slots=True)
class Event:
    """Event to record for the CronJob."""

    type: str
    reason: str
    message: str


def spec_of(cron: CronJob) -> CronJobSpec:
    """Return ``spec``, which every CronJob has."""
    assert cron.spec is not None
    return cron.spec


def status_of(cron: CronJob) -> CronJobStatus:
    """Return ``status``; empty if it is absent."""
    return cron.status or CronJobStatus()


# Status from Jobs


def ended_as(job: Job) -> str:
    """Return the type of the condition ``Complete`` or ``Failed``; empty while the Job runs."""
    conditions = job.status.conditions if job.status else None
    return next((name for name in ("Complete", "Failed") if is_condition_true(conditions, name)), "")


def superfluous(cron: CronJob, jobs: Iterable[Job]) -> list[Job]:
    """Return finished Jobs beyond the history limits, by start time."""
    ended = sorted(
        ((condition, job) for job in jobs if (condition := ended_as(job))), key=lambda entry: _began(entry[1])
    )
    surplus: list[Job] = []
    for type_, limit in (
        ("Complete", spec_of(cron).successfulJobsHistoryLimit),
        ("Failed", spec_of(cron).failedJobsHistoryLimit),
    ):
        alike = [job for condition, job in ended if condition == type_]
        if limit is not None:
            surplus += alike[: max(0, len(alike) - limit)]
    return surplus


def _began(job: Job) -> tuple[bool, float, str]:
    """Return the sort key of a Job's start time; a Job that never started sorts last."""
    start = job.status.startTime if job.status else None
    return start is None, start.timestamp() if start else 0.0, name_of(job)


def without(status: CronJobStatus, uids: Iterable[str]) -> CronJobStatus:
    """Return the status without these active Jobs."""
    removed_uids = set(uids)
    return replaced(
        status, active=[reference for reference in status.active or () if reference.uid not in removed_uids] or None
    )


def with_started(status: CronJobStatus, job: Job, at: datetime) -> CronJobStatus:
    """Return the status with one more active Job."""
    reference = ObjectReference(
        apiVersion="batch/v1",
        kind="Job",
        name=name_of(job),
        namespace=namespace_of(job),
        resourceVersion=resource_version_of(job),
        uid=uid_of(job),
    )
    return replaced(status, active=[*(status.active or ()), reference], lastScheduleTime=at)


def absent(status: CronJobStatus, jobs: Iterable[Job]) -> list[ObjectReference]:
    """Return active Jobs that the cache does not have; the caller reads the server."""
    present = set(map(uid_of, jobs))
    return [reference for reference in status.active or () if reference.uid not in present]


def is_unexpected(status: CronJobStatus, job: Job) -> bool:
    """Report whether a Job runs that is not among the active ones."""
    return not ended_as(job) and all(reference.uid != uid_of(job) for reference in status.active or ())


def with_finished_jobs(status: CronJobStatus, jobs: Sequence[Job]) -> tuple[CronJobStatus, list[Event]]:
    """Remove finished active Jobs from the status and record the last success."""
    events: list[Event] = []
    active = {reference.uid for reference in status.active or ()}
    for job in jobs:
        condition = ended_as(job)
        if condition and uid_of(job) in active:
            status = without(status, [uid_of(job)])
            message = f"Saw completed job: {name_of(job)}, condition: {condition}"
            events.append(Event("Normal", "SawCompletedJob", message))
        elif is_unexpected(status, job):
            message = f"Saw a job that the controller did not create or forgot: {name_of(job)}"
            events.append(Event("Warning", "UnexpectedJob", message))
        if condition == "Complete":
            status = _with_success(status, job)
    return status, events


def _with_success(status: CronJobStatus, job: Job) -> CronJobStatus:
    assert job.status is not None  # it has a condition
    at = job.status.completionTime
    if at is None:
        complete = find_condition(job.status.conditions, "Complete")
        at = complete.lastTransitionTime if complete else None
    if at is None or (status.lastSuccessfulTime is not None and at <= status.lastSuccessfulTime):
        return status
    return replaced(status, lastSuccessfulTime=at)


def is_relevant(old: Job, new: Job) -> bool:
    """Report whether a change of a Job may affect its CronJob: a change of owners, completion or deletion."""
    return is_being_deleted(old) != is_being_deleted(new) or _relevant_parts(old) != _relevant_parts(new)


def _relevant_parts(job: Job) -> tuple[object, ...]:
    status = job.status
    end = (status.conditions, status.startTime, status.completionTime) if status and status.conditions else None
    return metadata_field(job, "ownerReferences"), end


# Schedule


@dataclass(frozen=True, slots=True)
class Start:
    """Decision about the schedule."""

    #: Scheduled time for which to create a Job; None: no Job is created.
    at: datetime | None = None
    #: True if active Jobs must be deleted first.
    replaces: bool = False
    events: tuple[Event, ...] = ()
    #: Next time of the schedule; None: wait for a change.
    wake: datetime | None = None


def plan_start(cron: CronJob, status: CronJobStatus, *, now: datetime) -> Start:
    """Return the decision whether a start is due and allowed."""
    if is_being_deleted(cron):
        return Start()
    try:
        zone = load_zone(spec_of(cron).timeZone or "UTC")
    except ScheduleError as error:
        message = f"invalid timeZone: {quote(spec_of(cron).timeZone or '')}: {error}"
        return Start(events=(Event("Warning", "UnknownTimeZone", message),))
    if spec_of(cron).suspend:
        return Start()
    events = _timezone_events(cron)
    try:
        schedule = _schedule(cron, zone)
        due = find_due(schedule, since=_earliest(cron, status, now), now=now)
    except NoOccurrence as error:
        message = f"invalid schedule: {spec_of(cron).schedule} : {error}"
        return Start(events=(*events, Event("Warning", "InvalidSchedule", message)))
    except ScheduleError as error:
        message = f"unparseable schedule: {quote(spec_of(cron).schedule)} : {error}"
        return Start(events=(*events, Event("Warning", "UnparseableSchedule", message)))
    if due.too_many:
        message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        events = (*events, Event("Warning", "TooManyMissedTimes", message))
    wake = next_start(schedule, since=_last_start(cron, status, now), now=now)
    if due.at is None or _is_done(cron, status, due.at):
        return Start(events=events, wake=wake)
    refusal = _refusal(cron, status, due.at, now)
    if refusal is not None:
        return Start(events=(*events, refusal), wake=wake)
    replaces = spec_of(cron).concurrencyPolicy == "Replace" and bool(status.active)
    return Start(at=due.at, replaces=replaces, events=events, wake=wake)


def _timezone_events(cron: CronJob) -> tuple[Event, ...]:
    schedule = spec_of(cron).schedule
    if "TZ" not in schedule:
        return ()
    message = (
        f"CRON_TZ or TZ used in schedule {quote(schedule)} is not officially supported, see "
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    )
    return (Event("Warning", "UnsupportedSchedule", message),)


def _schedule(cron: CronJob, zone: tzinfo) -> Schedule:
    return _parse_schedule(spec_of(cron).schedule, zone=zone)


def has_same_schedule(cron: CronJob, other: CronJob) -> bool:
    """Report whether two states of a CronJob have the same schedule in the same time zone."""
    return (spec_of(cron).schedule, spec_of(cron).timeZone) == (spec_of(other).schedule, spec_of(other).timeZone)


def next_time(cron: CronJob, *, now: datetime) -> datetime | None:
    """Return the next time of the schedule; None if it never occurs again. Raises ScheduleError."""
    schedule = _schedule(cron, load_zone(spec_of(cron).timeZone or "UTC"))
    return next_start(schedule, since=_last_start(cron, status_of(cron), now), now=now)


def _last_start(cron: CronJob, status: CronJobStatus, now: datetime) -> datetime:
    """Return the last start, or the creation, before which no start is considered."""
    return status.lastScheduleTime or (cron.metadata.creationTimestamp if cron.metadata else None) or now


def _earliest(cron: CronJob, status: CronJobStatus, now: datetime) -> datetime:
    """Return the earliest start time to consider."""
    since = _last_start(cron, status, now)
    deadline = spec_of(cron).startingDeadlineSeconds
    return since if deadline is None else max(since, add_seconds(now, -deadline))


def _is_done(cron: CronJob, status: CronJobStatus, at: datetime) -> bool:
    name = job_name(cron, at)
    return status.lastScheduleTime == at or any(reference.name == name for reference in status.active or ())


def _refusal(cron: CronJob, status: CronJobStatus, at: datetime, now: datetime) -> Event | None:
    deadline = spec_of(cron).startingDeadlineSeconds
    if deadline is not None and add_seconds(at, deadline) < now:
        scheduled = at.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
        return Event("Warning", "MissSchedule", f"Missed scheduled time to start a job: {scheduled}")
    if spec_of(cron).concurrencyPolicy == "Forbid" and status.active:
        message = "Not starting job because prior execution is running and concurrency policy is Forbid"
        return Event("Normal", "JobAlreadyActive", message)
    return None


def job_name(cron: CronJob, at: datetime) -> str:
    """Return the Job's name from the CronJob's name and the scheduled minute, so that no Job is created twice."""
    return f"{name_of(cron)}-{int(at.timestamp()) // 60}"


def new_job(cron: CronJob, at: datetime) -> Job:
    """Return the Job to create for a scheduled time."""
    template = spec_of(cron).jobTemplate
    reference = controller_reference(cron, api_version="batch/v1", kind="CronJob")
    metadata = ObjectMeta(
        name=job_name(cron, at),
        namespace=namespace_of(cron),
        labels=labels_of(template) or None,
        annotations=annotations_of(template) | {SCHEDULED_AT: _local(cron, at)},
        ownerReferences=[OwnerReference(**reference.tree())],
    )
    return Job(apiVersion="batch/v1", kind="Job", metadata=metadata, spec=template.spec)


def _local(cron: CronJob, at: datetime) -> str:
    """Format a time in the schedule's time zone, as RFC 3339."""
    zone = load_zone(spec_of(cron).timeZone or "UTC")
    local = at.astimezone(zone)
    return local.isoformat(timespec="seconds") if local.utcoffset() else format_time(at)
