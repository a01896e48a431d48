"""Whether what has happened to one pod may help another that waits (queueing hints, KEP-4247)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.scheduler.pod_info import ANY_ADDRESS
from steersman.scheduler.queue import Happening

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.scheduler.pod_info import HostPort, PodInfo

    #: Of the rule that stood in the way of a pod, and that pod.
    Hint = Callable[[str, PodInfo], bool]
    LabelsOf = Callable[[str], Mapping[str, str]]


def pod_hint(other: PodInfo, happening: Happening, labels_of: LabelsOf) -> Hint:
    """What happened to ``other``; ``labels_of`` tells a namespace's labels."""

    def helps(blocker: str, pod: PodInfo) -> bool:
        match blocker:
            case "NodePorts":
                return any(_collide(mine, theirs) for mine in pod.host_ports for theirs in other.host_ports)
            case "PodTopologySpread":
                # Pods without constraints of their own are kept away by default ones, which are not known here.
                same = other.namespace == pod.namespace
                return same and (not pod.spread or any(each.selector.matches(other.labels) for each in pod.spread))
            case "InterPodAffinity":
                return _is_concerned(pod, other, happening, labels_of)
            case "NodeVolumeLimits":
                return bool(other.claims)
            case _:
                return True

    return helps


def change_of(before: PodInfo, after: PodInfo) -> Happening | None:
    """What a new state of a pod on its node may mean for others; None: nothing."""
    found = Happening(0)
    if before.labels != after.labels or before.is_terminating != after.is_terminating:
        found |= Happening.POD_CHANGED
    if any(after.requests.get(name, 0) < amount for name, amount in before.requests.items()):
        found |= Happening.POD_SHRUNK
    return found or None


_COMES: Final = Happening.POD_ARRIVED | Happening.POD_CHANGED


def _is_concerned(pod: PodInfo, other: PodInfo, happening: Happening, labels_of: LabelsOf) -> bool:
    """Company may have come for a pod, or gone whom it may not be near."""
    if happening & _COMES and any(term.matches(other, labels_of) for term in pod.affinity):
        return True
    if happening & Happening.POD_ARRIVED:
        return False
    # Of a pod with other labels it is not known what it was before.
    return bool(happening & Happening.POD_CHANGED) or (
        any(term.matches(other, labels_of) for term in pod.anti_affinity)
        or any(term.matches(pod, labels_of) for term in other.anti_affinity)
    )


def _collide(mine: HostPort, theirs: HostPort) -> bool:
    return mine[1:] == theirs[1:] and (mine[0] == theirs[0] or ANY_ADDRESS in (mine[0], theirs[0]))
