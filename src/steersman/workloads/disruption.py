"""Condition ``DisruptionTarget`` of pods (KEP-3329): why a pod is about to be terminated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.client.objects import metadata_field, uid_of
from steersman.runtime.conditions import find_condition

if TYPE_CHECKING:
    from lightkube.models.core_v1 import Pod

    from steersman.apimachinery.trees import Tree


_TARGET: Final = "DisruptionTarget"


def disruption_condition(pod: Pod, *, reason: str, message: str, now: str) -> Tree:
    """Return the condition as a tree; ``now`` as formatted by ``format_time``."""
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
    """Return the strategic merge patch of the pod's status with the condition; None if the status has it."""
    target = find_condition(pod.status.conditions if pod.status else None, _TARGET)
    if target is not None and (target.status, target.reason, target.message) == ("True", reason, message):
        return None
    condition = disruption_condition(pod, reason=reason, message=message, now=now)
    return {"metadata": {"uid": uid_of(pod)}, "status": {"conditions": [condition]}}
