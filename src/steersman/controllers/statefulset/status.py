"""Status of a StatefulSet. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lightkube.models.apps_v1 import StatefulSetStatus

from steersman.controllers.statefulset import identity
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.structs import replaced
from steersman.workloads.pods import ready_since

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import Pod

    from steersman.controllers.statefulset.plan import ObservedState


#: Fields whose changes are written.
_COMPARED: Final = (
    "replicas",
    "currentReplicas",
    "readyReplicas",
    "updatedReplicas",
    "availableReplicas",
    "currentRevision",
    "updateRevision",
)


def plan_status(world: ObservedState, *, collisions: int) -> StatefulSetStatus:
    """Count the Pods; a completed update becomes the current revision.

    The result does not preserve conditions of other clients. Upstream: ``updateStatefulSet``.
    """
    staying = [pod for pod in world.pods if not is_being_deleted(pod)]
    status = StatefulSetStatus(
        replicas=len(world.pods),
        readyReplicas=sum(map(world.runs, world.pods)) or None,
        availableReplicas=sum(map(world.is_available, world.pods)),
        currentReplicas=_of_revision(staying, world.current[0]) or None,
        updatedReplicas=_of_revision(staying, world.update[0]) or None,
        currentRevision=world.current[0],
        updateRevision=world.update[0],
        observedGeneration=world.sts.metadata.generation if world.sts.metadata else None,
        collisionCount=collisions,
    )
    return _completed(world, status)


def needs_write(old: StatefulSetStatus | None, new: StatefulSetStatus) -> bool:
    """Report whether counts, revisions or the observed generation differ. Upstream: ``inconsistentStatus``."""
    if old is None or (new.observedGeneration or 0) > (old.observedGeneration or 0):
        return True
    return any((getattr(old, name) or 0) != (getattr(new, name) or 0) for name in _COMPARED)


def _of_revision(pods: Iterable[Pod], revision: str) -> int:
    return sum(identity.revision_of(pod) == revision for pod in pods)


def _completed(world: ObservedState, status: StatefulSetStatus) -> StatefulSetStatus:
    strategy = identity.spec_of(world.sts).updateStrategy
    rolls = strategy is None or strategy.type in (None, "RollingUpdate")
    counts = {
        status.updatedReplicas or 0,
        status.readyReplicas or 0,
        status.replicas,
        len(identity.ordinals(world.sts)),
    }
    if not rolls or len(counts) > 1:
        return status
    return replaced(status, currentReplicas=status.updatedReplicas, currentRevision=status.updateRevision)


def seconds_to_requeue(world: ObservedState) -> float | None:
    """Return when the next ready Pod becomes available; at most ``minReadySeconds``, as nodes' clocks may differ."""
    least = identity.spec_of(world.sts).minReadySeconds or 0
    waiting = [pod for pod in world.pods if world.runs(pod) and not world.is_available(pod)]
    if not least or not waiting:
        return None
    remaining = [
        (since - world.now).total_seconds() + least for pod in waiting if (since := ready_since(pod)) is not None
    ]
    return min([float(least), *(seconds for seconds in remaining if seconds > 0)])
