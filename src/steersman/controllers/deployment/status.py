"""Status of a Deployment: counts, and the conditions Available, Progressing and ReplicaFailure. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lightkube.models.apps_v1 import DeploymentCondition, DeploymentStatus

from steersman.apimachinery.timestamps import add_seconds
from steersman.client.objects import name_of
from steersman.controllers.deployment.rules import NO_LIMIT, available, desired_replicas, max_unavailable, size
from steersman.runtime.conditions import find_condition, without_condition
from steersman.runtime.structs import replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from lightkube.models.apps_v1 import Deployment, ReplicaSet

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
REPLICA_FAILURE: Final = "ReplicaFailure"

# Reasons of Progressing.
NEW_SET_CREATED: Final = "NewReplicaSetCreated"
NEW_SET_FOUND: Final = "FoundNewReplicaSet"
NEW_SET_AVAILABLE: Final = "NewReplicaSetAvailable"
SETS_UPDATED: Final = "ReplicaSetUpdated"
SET_NOT_CREATED: Final = "ReplicaSetCreateError"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"


def deadline_seconds(deployment: Deployment) -> int | None:
    """Return ``spec.progressDeadlineSeconds``; None without a deadline."""
    seconds = deployment.spec.progressDeadlineSeconds if deployment.spec else None
    return None if seconds == NO_LIMIT else seconds


def progress(status: DeploymentStatus) -> DeploymentCondition | None:
    """Return the condition Progressing."""
    return find_condition(status.conditions, PROGRESSING)


def with_deployment_condition(status: DeploymentStatus, condition: DeploymentCondition) -> DeploymentStatus:
    """Return the status with a condition; an existing one with equal status and reason is preserved."""
    present = find_condition(status.conditions, condition.type)
    if present is not None and present.status == condition.status:
        if present.reason == condition.reason:
            return status
        condition = replaced(condition, lastTransitionTime=present.lastTransitionTime)
    return replaced(status, conditions=[*without_condition(status.conditions, condition.type), condition])


def without_deployment_condition(status: DeploymentStatus, type_: str) -> DeploymentStatus:
    """Return the status without the condition of a type."""
    return replaced(status, conditions=without_condition(status.conditions, type_) or None)


def new_condition(type_: str, status: str, reason: str, message: str, *, now: datetime) -> DeploymentCondition:
    """Return a condition with transition and update time ``now``."""
    return DeploymentCondition(
        type=type_, status=status, reason=reason, message=message, lastUpdateTime=now, lastTransitionTime=now
    )


def progressing(status: str, reason: str, message: str, *, now: datetime) -> DeploymentCondition:
    """Return the condition Progressing."""
    return new_condition(PROGRESSING, status, reason, message, now=now)


def count(
    deployment: Deployment,
    status: DeploymentStatus,
    sets: Iterable[ReplicaSet],
    new: ReplicaSet | None,
    *,
    now: datetime,
) -> DeploymentStatus:
    """Return the status with the ReplicaSets' counts and the condition Available. ``sets`` includes ``new``."""
    sets = list(sets)
    total = sum(map(available, sets))
    counted = DeploymentStatus(
        observedGeneration=(deployment.metadata.generation if deployment.metadata else None),
        replicas=sum(map(_replicas, sets)) or None,
        updatedReplicas=(_replicas(new) if new else 0) or None,
        readyReplicas=sum((rs.status.readyReplicas if rs.status else None) or 0 for rs in sets) or None,
        availableReplicas=total or None,
        unavailableReplicas=max(0, sum(map(size, sets)) - total) or None,
        terminatingReplicas=_terminating(sets),
        collisionCount=status.collisionCount,
        conditions=status.conditions,
    )
    if total >= desired_replicas(deployment) - max_unavailable(deployment):
        condition = new_condition(
            AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now=now
        )  # fmt: skip
    else:
        condition = new_condition(
            AVAILABLE, "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.", now=now
        )
    return with_deployment_condition(counted, condition)


def _replicas(rs: ReplicaSet) -> int:
    return rs.status.replicas if rs.status else 0


def _terminating(sets: Sequence[ReplicaSet]) -> int | None:
    """Return the sum of ``terminatingReplicas``; None while a ReplicaSet does not report it."""
    counts = [rs.status.terminatingReplicas if rs.status else None for rs in sets]
    return None if None in counts else sum(filter(None, counts))


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Report whether all replicas are updated and available, and no old replicas exist."""
    replicas = desired_replicas(deployment)
    return (
        (status.updatedReplicas or 0) == replicas
        and (status.replicas or 0) == replicas
        and (status.availableReplicas or 0) == replicas
        and (status.observedGeneration or 0) >= ((deployment.metadata.generation if deployment.metadata else 0) or 0)
    )


def has_progressed(old: DeploymentStatus, new: DeploymentStatus) -> bool:
    """Report whether there are more updated, fewer old, or more ready or available replicas."""

    def outdated(status: DeploymentStatus) -> int:
        return (status.replicas or 0) - (status.updatedReplicas or 0)

    return (
        (new.updatedReplicas or 0) > (old.updatedReplicas or 0)
        or outdated(new) < outdated(old)
        or (new.readyReplicas or 0) > (old.readyReplicas or 0)
        or (new.availableReplicas or 0) > (old.availableReplicas or 0)
    )


def has_timed_out(deployment: Deployment, status: DeploymentStatus, *, now: datetime) -> bool:
    """Report whether the progress deadline has passed; it does not apply to a completed rollout."""
    seconds, condition = deadline_seconds(deployment), progress(status)
    if seconds is None or condition is None or condition.reason == NEW_SET_AVAILABLE:
        return False
    if condition.reason == TIMED_OUT:
        return True
    return condition.lastUpdateTime is None or add_seconds(condition.lastUpdateTime, seconds) < now


def watch_progress(
    deployment: Deployment,
    before: DeploymentStatus,
    counted: DeploymentStatus,
    new: ReplicaSet | None,
    *,
    now: datetime,
) -> DeploymentStatus:
    """Return the status with the condition Progressing, from the counts ``before`` and now."""
    if deadline_seconds(deployment) is None:
        return without_deployment_condition(counted, PROGRESSING)
    condition = progress(before)
    settled = (counted.replicas or 0) == (counted.updatedReplicas or 0)
    if settled and condition is not None and condition.reason == NEW_SET_AVAILABLE:
        return counted
    subject = f'ReplicaSet "{name_of(new)}"' if new is not None else f'Deployment "{name_of(deployment)}"'
    if is_complete(deployment, counted):
        message = f"{subject} has successfully progressed."
        return with_deployment_condition(counted, progressing("True", NEW_SET_AVAILABLE, message, now=now))
    if has_progressed(before, counted):
        fresh = progressing("True", SETS_UPDATED, f"{subject} is progressing.", now=now)
        if condition is not None and condition.status == "True":
            fresh = replaced(fresh, lastTransitionTime=condition.lastTransitionTime)
        # Replaced even for an equal reason: lastUpdateTime is the time of the last progress.
        return with_deployment_condition(without_deployment_condition(counted, PROGRESSING), fresh)
    if has_timed_out(deployment, counted, now=now):
        return with_deployment_condition(
            counted, progressing("False", TIMED_OUT, f"{subject} has timed out progressing.", now=now)
        )
    return counted


def take_over_failure(status: DeploymentStatus, sets: Iterable[ReplicaSet], new: ReplicaSet | None) -> DeploymentStatus:
    """Return the status with the ReplicaFailure of a ReplicaSet, the new one's first; without one if none fails."""
    for rs in [*([new] if new else []), *sets]:
        failed = find_condition(rs.status.conditions if rs.status else None, REPLICA_FAILURE)
        if failed is not None:
            since = failed.lastTransitionTime
            condition = DeploymentCondition(
                type=REPLICA_FAILURE,
                status=failed.status,
                reason=failed.reason,
                message=failed.message,
                lastTransitionTime=since,
                lastUpdateTime=since,
            )
            return with_deployment_condition(status, condition)
    return without_deployment_condition(status, REPLICA_FAILURE)


def seconds_to_deadline(deployment: Deployment, status: DeploymentStatus, *, now: datetime) -> float | None:
    """Return the seconds until the progress deadline; None if it does not apply."""
    seconds, condition = deadline_seconds(deployment), progress(status)
    if seconds is None or condition is None or is_complete(deployment, status) or condition.reason == TIMED_OUT:
        return None
    if condition.lastUpdateTime is None:
        return 0.0
    return (add_seconds(condition.lastUpdateTime, seconds) - now).total_seconds()
