"""Time that a pod may stay on a tainted Node. Pure rules of ``pkg/controller/tainteviction``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steersman.client.objects import uid_of
from steersman.workloads.node_matching import NO_EXECUTE, tolerates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightkube.models.core_v1 import Node, Pod, Taint, Toleration

FOREVER: Final = float("inf")
#: Reason and message of the condition ``DisruptionTarget``.
REASON: Final = "DeletionByTaintManager"
MESSAGE: Final = "Taint manager: deleting due to NoExecute taint"


@dataclass(frozen=True, slots=True)
class Stay:
    """Scheduled eviction: start of the taints and time of eviction, in monotonic seconds."""

    uid: str
    since: float
    until: float
    #: True if the pod was evicted.
    over: bool = False


def evicting_taints(node: Node) -> list[Taint]:
    """Return the Node's ``NoExecute`` taints."""
    taints = (node.spec.taints if node.spec else None) or ()
    return [taint for taint in taints if taint.effect == NO_EXECUTE]


def tolerations_of(pod: Pod) -> list[Toleration]:
    """Return ``spec.tolerations``."""
    return list((pod.spec.tolerations if pod.spec else None) or ())


def tolerated_seconds(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float:
    """Return how long all of the taints are tolerated: 0 not at all, ``FOREVER`` without limit.

    For each taint the first matching toleration counts.
    """
    seconds = FOREVER
    for taint in taints:
        matching = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
        if matching is None:
            return 0.0
        if matching.tolerationSeconds is not None:
            seconds = min(seconds, max(0.0, matching.tolerationSeconds))
    return seconds


@dataclass(frozen=True, slots=True)
class Decision:
    """Change of a pod's scheduled eviction."""

    #: Scheduled eviction; None if the pod may stay.
    stay: Stay | None
    #: True if a scheduled deletion is cancelled, which is recorded as an event.
    cancelled: bool = False


def decide(pod: Pod, taints: Sequence[Taint], previous: Stay | None, *, now: float) -> Decision:
    """Return the decision from the pod's tolerations and its scheduled eviction.

    A running period continues when taints or tolerations change.
    """
    planned = previous is not None and not previous.over
    seconds = tolerated_seconds(taints, tolerations_of(pod))
    if seconds == FOREVER:
        return Decision(None, cancelled=planned)
    if previous is None:
        return Decision(Stay(uid_of(pod), now, now + seconds))
    if previous.over:
        return Decision(previous)
    if seconds == 0:
        return Decision(Stay(previous.uid, previous.since, now), cancelled=previous.until > now)
    return Decision(Stay(previous.uid, previous.since, previous.since + seconds))
