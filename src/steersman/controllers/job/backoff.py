"""Exponential backoff for replacing failed Pods: from 10 s to 10 minutes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import add_seconds
from steersman.workloads.pods import ready_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lightkube.models.core_v1 import ContainerStatus, Pod

FIRST_SECONDS: Final = 10.0
MOST_SECONDS: Final = 600.0
#: Doublings after which the delay is the maximum.
_DOUBLINGS_MAX: Final = 16
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Failures:
    """Consecutive failures of one Job since its last success."""

    in_a_row: int = 0
    last: datetime | None = None

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> Failures:
        """Return the failures after more Pods have finished."""
        times = sorted(map(ended_at, failed))
        if not succeeded:
            return Failures(self.in_a_row + len(times), times[-1]) if times else self
        success = max(map(ended_at, succeeded))
        later = [moment for moment in times if moment > success]
        return Failures(len(later), later[-1] if later else None)

    def seconds_left(self, now: datetime) -> float:
        """Return the seconds until the next Pod may be created; 0: immediately."""
        if not self.in_a_row or self.last is None:
            return 0.0
        wait = min(FIRST_SECONDS * (1 << min(self.in_a_row - 1, _DOUBLINGS_MAX)), MOST_SECONDS)
        return max(0.0, wait - (now - self.last).total_seconds())


def ended_at(pod: Pod) -> datetime:
    """Return when the Pod finished: from its containers, conditions, deletion, or else creation."""
    metadata = pod.metadata
    if (moment := _containers_ended(pod)) is not None:
        return moment
    condition = ready_condition(pod)
    if condition is not None and condition.status == "False" and condition.lastTransitionTime is not None:
        return condition.lastTransitionTime
    if metadata is not None and metadata.deletionTimestamp is not None:
        # deletionTimestamp is the end of the grace period.
        return add_seconds(metadata.deletionTimestamp, -(metadata.deletionGracePeriodSeconds or 0))
    return (metadata.creationTimestamp if metadata else None) or _LONG_AGO


def _containers_ended(pod: Pod) -> datetime | None:
    """Return when the last container terminated, sidecars included; None while one runs."""
    if pod.status is None:
        return None
    init = (pod.spec.initContainers if pod.spec else None) or ()
    sidecars = {container.name for container in init if container.restartPolicy == "Always"}
    statuses = [
        *(pod.status.containerStatuses or ()),
        *(status for status in pod.status.initContainerStatuses or () if status.name in sidecars),
    ]
    moments = [_ended(status) for status in statuses]
    return _latest(moments)


def _ended(status: ContainerStatus) -> datetime | None:
    ended = status.state.terminated if status.state else None
    return ended.finishedAt if ended else None


def _latest(moments: Iterable[datetime | None]) -> datetime | None:
    known_moments = list(moments)
    return (
        None
        if not known_moments or None in known_moments
        else max(moment for moment in known_moments if moment is not None)
    )
