"""Validation of CronJobs. Upstream: ``ValidateCronJobCreate``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.schedules import ScheduleError, load_zone, parse_schedule
from steersman.apiserver.kinds.batch.job.validation import validate_job_template
from steersman.apiserver.kinds.shared.counts import check_none_negative
from steersman.apiserver.kinds.shared.validation import check_supported
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_SPEC: Final = field.Path("spec")
#: Maximum length: names of Jobs have 11 more characters and must be label values.
_NAME_MAX: Final = 52
_ZONE_PART: Final = re.compile(r"[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}")


def validate_cron_job(obj: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate a new CronJob."""
    yield from _validate_spec(obj["spec"], None, facts_for=facts_for)
    name = obj["metadata"].get("name") or ""
    if len(name) > _NAME_MAX:
        yield field.invalid("metadata.name", name, f"must be no more than {_NAME_MAX} characters")


def validate_cron_job_update(obj: Tree, old: Tree, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    """Validate an update of a CronJob."""
    yield from _validate_spec(obj["spec"], old["spec"], facts_for=facts_for)


def _validate_spec(spec: Tree, before: Tree | None, facts_for: FactsFor = new_facts) -> Iterator[FieldError]:
    yield from _validate_schedule(spec, before, _SPEC.child("schedule"))
    yield from check_none_negative(spec, ("startingDeadlineSeconds",), _SPEC)
    zone = spec.get("timeZone")
    if zone is not None and (before is None or before.get("timeZone") != zone):
        yield from _validate_zone(zone, _SPEC.child("timeZone"))
    policies = ("Allow", "Forbid", "Replace")
    yield from check_supported(spec.get("concurrencyPolicy"), policies, _SPEC.child("concurrencyPolicy"))
    yield from validate_job_template(spec.get("jobTemplate") or {}, _SPEC.child("jobTemplate"), facts_for=facts_for)
    yield from check_none_negative(spec, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"), _SPEC)


def _validate_schedule(spec: Tree, before: Tree | None, path: Path) -> Iterator[FieldError]:
    """Validate the schedule. A time zone in it (``TZ=``) is accepted only if unchanged."""
    schedule = spec.get("schedule") or ""
    if not schedule:
        yield field.required(path)
        return
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        yield field.invalid(path, schedule, str(error))
    if "TZ" not in schedule:
        return
    if before is None or "TZ" not in (before.get("schedule") or ""):
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield field.invalid(path, schedule, detail)
    elif spec.get("timeZone") is not None:
        yield field.invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


def _validate_zone(zone: str, path: Path) -> Iterator[FieldError]:
    if not zone:
        yield field.invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    if any(part in (".", "..") or not _ZONE_PART.fullmatch(part) for part in zone.split("/")):
        yield field.invalid(path, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield field.invalid(path, zone, detail)
    if zone != "Local":
        try:
            load_zone(zone)
        except ScheduleError as error:
            yield field.invalid(path, zone, str(error))
