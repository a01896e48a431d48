"""How long a pod may stay on a tainted Node. Rules of ``pkg/controller/tainteviction``."""

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
    """A pod that is to go: its Node's taints were first seen by it then, and it goes then. In monotonic seconds."""

    uid: str
    since: float
    until: float
    #: Whether it was sent away already.
    over: bool = False


def evicting_taints(node: Node) -> list[Taint]:
    """Its ``NoExecute`` taints."""
    taints = (node.spec.taints if node.spec else None) or ()
    return [taint for taint in taints if taint.effect == NO_EXECUTE]


def tolerations_of(pod: Pod) -> list[Toleration]:
    """``spec.tolerations``."""
    return list((pod.spec.tolerations if pod.spec else None) or ())


def tolerated_seconds(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float:
    """How long all of the taints are tolerated: 0 not at all, ``FOREVER`` without an end.

    For each taint the first toleration that is for it counts.
    """
    seconds = FOREVER
    for taint in taints:
        found = next((each for each in tolerations if tolerates(each, taint)), None)
        if found is None:
            return 0.0
        if found.tolerationSeconds is not None:
            seconds = min(seconds, max(0.0, found.tolerationSeconds))
    return seconds


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a pod's stay."""

    #: None: it may stay.
    stay: Stay | None
    #: Whether a deletion that was planned is called off, and that is to be told.
    cancelled: bool = False


def decide(pod: Pod, taints: Sequence[Taint], known: Stay | None, *, now: float) -> Decision:
    """From the pod's tolerations and what was planned for it, this very pod, before.

    A time that was begun goes on when taints or tolerations change.
    """
    planned = known is not None and not known.over
    seconds = tolerated_seconds(taints, tolerations_of(pod))
    if seconds == FOREVER:
        return Decision(None, cancelled=planned)
    if known is None:
        return Decision(Stay(uid_of(pod), now, now + seconds))
    if known.over:
        return Decision(known)
    if seconds == 0:
        return Decision(Stay(known.uid, known.since, now), cancelled=known.until > now)
    return Decision(Stay(known.uid, known.since, known.since + seconds))
