"""Selection of process pods, by an annotation of the pod or a label of its node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

#: Annotation of a pod, ``true`` or ``false``; label of a node, for pods without the annotation.
PROCESS_POD: Final = "nodes.steersman.dev/process-pod"
PROCESS_PODS: Final = "nodes.steersman.dev/process-pods"


def is_process_pod(pod: Tree, node: Tree) -> bool:
    """True if a pod on its node runs as processes."""
    value = (pod["metadata"].get("annotations") or {}).get(PROCESS_POD)
    if value is not None:
        return bool(value == "true")
    return (node["metadata"].get("labels") or {}).get(PROCESS_PODS) == "true"
