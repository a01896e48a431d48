"""Which pods run as local processes: those that say so, or are on a node that does."""

from __future__ import annotations

from typing import Any, Final

Tree = dict[str, Any]

#: Annotation of a pod, ``true`` or ``false``; and label of a node, for its pods that do not say.
PROCESS_POD: Final = "nodes.steersman.dev/process-pod"
PROCESS_PODS: Final = "nodes.steersman.dev/process-pods"


def is_process_pod(pod: Tree, node: Tree) -> bool:
    """Of a pod on its node."""
    said = (pod["metadata"].get("annotations") or {}).get(PROCESS_POD)
    if said is not None:
        return bool(said == "true")
    return (node["metadata"].get("labels") or {}).get(PROCESS_PODS) == "true"
