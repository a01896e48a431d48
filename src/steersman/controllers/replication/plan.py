"""Pods to create or delete, and the status. Pure rules of ``pkg/controller/replicaset``.

A reconcile counts the Pods that the object owns (``observe``), decides about creations and deletions
(``plan_replicas``), and computes the status from counts and failures (``plan_status``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from steersman.controllers.replication.deletion_order import in_deletion_order
from steersman.runtime.conditions import find_condition, without_condition
from steersman.workloads.pods import is_available, is_ready

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from lightkube.models.core_v1 import Pod

#: Maximum number of Pods that one reconcile creates or deletes; the rest waits until the cache has observed these.
BURST_REPLICAS: Final = 500

REPLICA_FAILURE: Final = "ReplicaFailure"


@dataclass(frozen=True, slots=True)
class Plan:
    """Number of Pods to create, or Pods to delete."""

    create: int = 0
    delete: tuple[Pod, ...] = ()


def plan_replicas(
    active: Sequence[Pod],
    desired_replicas: int,
    *,
    related: Sequence[Pod],
    now: datetime,
    burst: int = BURST_REPLICAS,
) -> Plan:
    """Return the step from the ``active`` Pods to ``desired_replicas`` ones, at most ``burst`` at a time.

    ``related``: Pods of the object and its siblings; Pods on a node with many of them are deleted first.
    """
    surplus = len(active) - desired_replicas
    if surplus < 0:
        return Plan(create=min(-surplus, burst))
    if surplus == 0:
        return Plan()
    count = min(surplus, burst)
    if count == len(active):
        return Plan(delete=tuple(active))
    return Plan(delete=tuple(in_deletion_order(active, related, now=now)[:count]))


@dataclass(frozen=True, slots=True)
class Counts:
    """Pod counts of a status."""

    replicas: int
    #: Pods with all labels of the template.
    fully_labeled: int
    ready: int
    #: Pods that have been ready for ``minReadySeconds``.
    available: int
    #: Terminating Pods; None if the kind does not report them.
    terminating: int | None


def observe(
    active: Sequence[Pod],
    terminating: int | None,
    *,
    template_labels: Mapping[str, str],
    min_ready_seconds: int,
    now: datetime,
) -> Counts:
    """Count the Pods."""
    return Counts(
        replicas=len(active),
        fully_labeled=sum(template_labels.items() <= (pod.metadata.labels or {}).items() for pod in active),  # type: ignore[union-attr]
        ready=sum(is_ready(pod) for pod in active),
        available=sum(is_available(pod, min_ready_seconds, now=now) for pod in active),
        terminating=terminating,
    )


@dataclass(frozen=True, slots=True)
class Status:
    """Status to write, for either kind."""

    counts: Counts
    observed_generation: int
    #: Class of the kind's condition.
    conditions: tuple[Any, ...] = ()

    def about(self, generation: int) -> Status:
        """Return the status with an observed generation."""
        return replace(self, observed_generation=generation)


def plan_status(
    old: Status, counts: Counts, *, desired_replicas: int, failure: str | None, new_condition: type[Any], now: datetime
) -> Status:
    """Return the next status, still with the old observed generation.

    ``failure``: why Pods could not be created or deleted. It becomes the condition ``ReplicaFailure``, which keeps its
    first message and time until no failure is left.
    """
    conditions = list(old.conditions)
    failed = find_condition(conditions, REPLICA_FAILURE)
    if failure is None and failed is not None:
        conditions = without_condition(conditions, REPLICA_FAILURE)
    elif failure is not None and failed is None:
        missing = desired_replicas - counts.replicas
        reason = "FailedCreate" if missing > 0 else "FailedDelete" if missing < 0 else None
        message = f"unable to delete pods: {failure}" if missing < 0 else failure
        conditions.append(
            new_condition(
                type=REPLICA_FAILURE, status="True", reason=reason, message=message, lastTransitionTime=now
            )
        )  # fmt: skip
    return Status(counts, old.observed_generation, tuple(conditions))


def needs_write(old: Status, new: Status, generation: int) -> bool:
    """Report whether the status differs from the stored one."""
    return old != new.about(generation)


def resync_seconds(counts: Counts, *, min_ready_seconds: int, next_available_seconds: float | None) -> float | None:
    """Return the seconds until the next ready Pod becomes available.

    At least once after ``minReadySeconds``, as nodes' clocks may differ.
    """
    if min_ready_seconds <= 0 or counts.ready == counts.available:
        return None
    return float(min_ready_seconds) if next_available_seconds is None else next_available_seconds
