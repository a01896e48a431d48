"""Expiry of finished Jobs. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.timestamps import add_seconds
from steersman.client.objects import metadata_field

if TYPE_CHECKING:
    from datetime import datetime

    from lightkube.models.batch_v1 import Job


def expires_at(job: Job) -> datetime | None:
    """Return the time of deletion; None if not finished, without TTL, or being deleted."""
    if job.spec is None or job.spec.ttlSecondsAfterFinished is None:
        return None
    if metadata_field(job, "deletionTimestamp") is not None:
        return None
    finished = finished_at(job)
    return None if finished is None else add_seconds(finished, job.spec.ttlSecondsAfterFinished)


def seconds_to_deletion(job: Job, *, now: datetime) -> float | None:
    """Return the seconds until deletion; 0 or less if due. None as for ``expires_at``."""
    expires = expires_at(job)
    return None if expires is None else (expires - now).total_seconds()


def finished_at(job: Job) -> datetime | None:
    """Return when the Job became complete or failed."""
    for condition in (job.status.conditions if job.status else None) or ():
        if condition.type in ("Complete", "Failed") and condition.status == "True":
            return condition.lastTransitionTime
    return None
