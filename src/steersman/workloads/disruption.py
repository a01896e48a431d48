"""Why a pod is about to go, said in its status: the condition ``DisruptionTarget`` (KEP-3329)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.client.objects import metadata_field, uid_of
from steersman.runtime.conditions import find_condition

if TYPE_CHECKING:
    from lightkube.models.core_v1 import Pod

    from steersman.apimachinery.trees import Tree


_TARGET: Final = "DisruptionTarget"


def disruption_condition(pod: Pod, *, reason: str, message: str, now: str) -> Tree:
    """The condition as a tree; ``now`` as ``format_time`` writes it."""
    generation = metadata_field(pod, "generation")
    return {
        "type": _TARGET,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastProbeTime": None,
        "lastTransitionTime": now,
    } | ({"observedGeneration": generation} if generation else {})


def disruption_patch(pod: Pod, *, reason: str, message: str, now: str) -> Tree | None:
    """A strategic patch of the pod's status that says it; None where the status says so already."""
    found = find_condition(pod.status.conditions if pod.status else None, _TARGET)
    if found is not None and (found.status, found.reason, found.message) == ("True", reason, message):
        return None
    condition = disruption_condition(pod, reason=reason, message=message, now=now)
    return {"metadata": {"uid": uid_of(pod)}, "status": {"conditions": [condition]}}
