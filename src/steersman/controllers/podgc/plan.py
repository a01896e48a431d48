"""Pods to delete, and their status. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.client.objects import metadata_field, name_of, uid_of
from steersman.runtime.conditions import find_condition
from steersman.workloads.disruption import disruption_condition
from steersman.workloads.pods import is_finished, node_of, phase_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import Node, Pod

    from steersman.apimachinery.trees import Tree


#: Time for which a Node must be missing.
QUARANTINE_SECONDS: Final = 40.0
#: Time for which an unscheduled Pod may be terminating: upstream's polling interval. Its status then becomes ``Failed``, which
#: the owner of a finalizer need not observe immediately.
UNSCHEDULED_SECONDS: Final = 20.0
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
#: Reason and message of the condition ``DisruptionTarget``.
NODE_GONE: Final = ("DeletionByPodGC", "PodGC: node no longer exists")


def is_unscheduled_and_terminating(pod: Pod) -> bool:
    """Report whether a pod is terminating without a Node, so that no kubelet deletes it."""
    return metadata_field(pod, "deletionTimestamp") is not None and not node_of(pod)


def is_out_of_service(node: Node | None) -> bool:
    """Report whether the Node has the ``out-of-service`` taint and is not ready."""
    if node is None:
        return False
    taints = (node.spec.taints if node.spec else None) or ()
    ready = find_condition(node.status.conditions if node.status else None, "Ready")
    is_ready = ready is not None and ready.status == "True"
    return not is_ready and any(taint.key == _OUT_OF_SERVICE for taint in taints)


def terminating_pods(pods: Iterable[Pod]) -> list[Pod]:
    """Return the terminating pods of an out-of-service Node."""
    return [pod for pod in pods if metadata_field(pod, "deletionTimestamp") is not None]


def surplus(pods: Iterable[Pod], *, threshold: int) -> list[Pod]:
    """Return terminated pods beyond the threshold: evicted ones first, then by age."""
    ended = [pod for pod in pods if phase_of(pod) not in ("", "Pending", "Running", "Unknown")]
    if threshold <= 0 or len(ended) <= threshold:
        return []
    ended.sort(key=lambda pod: (not _is_evicted(pod), metadata_field(pod, "creationTimestamp"), name_of(pod)))
    return ended[: len(ended) - threshold]


def failed_patch(pod: Pod, *, now: str, disruption: tuple[str, str] | None = None) -> Tree | None:
    """Return the strategic merge patch to phase Failed with a disruption condition; None for a finished pod."""
    if is_finished(pod):
        return None
    generation = metadata_field(pod, "generation") or 0
    status: Tree = {"phase": "Failed"} | ({"observedGeneration": generation} if generation else {})
    if disruption is not None:
        reason, message = disruption
        status["conditions"] = [disruption_condition(pod, reason=reason, message=message, now=now)]
    return {"metadata": {"uid": uid_of(pod)}, "status": status}


def _is_evicted(pod: Pod) -> bool:
    return pod.status is not None and (pod.status.phase, pod.status.reason) == ("Failed", "Evicted")


def node_key(pod: Any) -> tuple[str, ...]:
    """Return the key of the index of pods by Node."""
    name = node_of(pod)
    return (name,) if name else ()
