"""Queueing hints: whether an event of one pod can make another pod schedulable (KEP-4247)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.scheduler.queue import ClusterEvent
from steersman.workloads.host_ports import is_taken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.scheduler.pod_info import PodInfo

    #: Plugin that rejected a pod, and this pod; True if the event may make it schedulable.
    QueueingHint = Callable[[str, PodInfo], bool]
    LabelsOf = Callable[[str], Mapping[str, str]]


def pod_queueing_hint(other: PodInfo, event: ClusterEvent, labels_of: LabelsOf) -> QueueingHint:
    """Return the queueing hint for an event of ``other``; ``labels_of`` returns the labels of a namespace."""

    def hint(blocker: str, pod: PodInfo) -> bool:
        match blocker:
            case "NodePorts":
                return any(is_taken(port, other.host_ports) for port in pod.host_ports)
            case "PodTopologySpread":
                # Default constraints may apply to pods without their own; they are not available here.
                same = other.namespace == pod.namespace
                return same and (
                    not pod.spread or any(constraint.selector.matches(other.labels) for constraint in pod.spread)
                )
            case "InterPodAffinity":
                return _affinity_hint(pod, other, event, labels_of)
            case "NodeVolumeLimits":
                return bool(other.claims)
            case _:
                return True

    return hint


def pod_update_events(before: PodInfo, after: PodInfo) -> ClusterEvent | None:
    """Return the events that an update of an assigned pod stands for, or None. Upstream:
    ``PodSchedulingPropertiesChange``.
    """
    events = ClusterEvent(0)
    if before.labels != after.labels or before.is_terminating != after.is_terminating:
        events |= ClusterEvent.POD_CHANGED
    if any(after.requests.get(name, 0) < amount for name, amount in before.requests.items()):
        events |= ClusterEvent.POD_SHRUNK
    return events or None


_MAY_MATCH_AFFINITY: Final = ClusterEvent.POD_ARRIVED | ClusterEvent.POD_CHANGED


def _affinity_hint(pod: PodInfo, other: PodInfo, event: ClusterEvent, labels_of: LabelsOf) -> bool:
    """Report whether a pod with matching affinity may have arrived, or one with conflicting anti-affinity left."""
    if event & _MAY_MATCH_AFFINITY and any(term.matches(other, labels_of) for term in pod.affinity):
        return True
    if event & ClusterEvent.POD_ARRIVED:
        return False
    # After a label change the previous labels are not available.
    return bool(event & ClusterEvent.POD_CHANGED) or (
        any(term.matches(other, labels_of) for term in pod.anti_affinity)
        or any(term.matches(pod, labels_of) for term in other.anti_affinity)
    )
