"""Taints, labels and status of a Node by its state. Pure rules of ``pkg/controller/nodelifecycle``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from lightkube.models.core_v1 import NodeCondition, Taint

from steersman.client.objects import labels_of, metadata_field, resource_version_of
from steersman.runtime.conditions import find_condition
from steersman.runtime.structs import replaced
from steersman.workloads.node_matching import NO_EXECUTE, NO_SCHEDULE
from steersman.workloads.pods import ready_condition

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from lightkube.models.core_v1 import Node, Pod

    from steersman.apimachinery.trees import Tree


NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"

#: Key of the ``NoSchedule`` taint by condition type and status.
CONDITION_TAINTS: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OURS: Final = {NO_SCHEDULE: {*CONDITION_TAINTS.values(), UNSCHEDULABLE}, NO_EXECUTE: {NOT_READY, UNREACHABLE}}

#: Labels and their deprecated names before 1.14, which have the same values.
_MIRRORED_LABELS: Final = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}
#: Conditions that the kubelet posts; Unknown once it stops.
_KUBELET_CONDITIONS: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")

Named = tuple[str, str]


def ready_of(node: Node) -> NodeCondition | None:
    """Return the condition ``Ready``; None if the kubelet never posted it."""
    return find_condition(node.status.conditions if node.status else None, "Ready")


def ready_status(node: Node) -> str:
    """Return ``True``, ``False`` or ``Unknown``; empty without the condition."""
    ready = ready_of(node)
    return ready.status if ready is not None else ""


def taints_of(node: Node) -> list[Taint]:
    """Return ``spec.taints``."""
    return list((node.spec.taints if node.spec else None) or ())


def scheduling_keys(node: Node) -> list[str]:
    """Return the keys of the ``NoSchedule`` taints for the Node's conditions and ``spec.unschedulable``."""
    conditions = (node.status.conditions if node.status else None) or ()
    keys = [CONDITION_TAINTS.get((condition.type, condition.status)) for condition in conditions]
    if node.spec is not None and node.spec.unschedulable:
        keys.append(UNSCHEDULABLE)
    return list(dict.fromkeys(key for key in keys if key))


def eviction_key(node: Node) -> str:
    """Return the key of the ``NoExecute`` taint for the Node's readiness; empty if none."""
    return CONDITION_TAINTS.get(("Ready", ready_status(node)), "")


def is_evicting(node: Node) -> bool:
    """Report whether the node has a ``NoExecute`` taint for its readiness already, which is replaced without delay."""
    return any(taint.effect == NO_EXECUTE and taint.key in _OURS[NO_EXECUTE] for taint in taints_of(node))


def wanted_taints(node: Node, *, evict: bool, now: datetime) -> list[Taint] | None:
    """Return all desired taints, including those of other clients; None if up to date.

    ``evict``: the zone's rate limiter admits the eviction of the pods of a Node that is not ready.
    """
    desired_taints: dict[Named, None] = dict.fromkeys((key, NO_SCHEDULE) for key in scheduling_keys(node))
    if evict and eviction_key(node):
        desired_taints[eviction_key(node), NO_EXECUTE] = None
    have = taints_of(node)
    kept_taints = [
        taint for taint in have if taint.key not in _OURS.get(taint.effect, ()) or _named(taint) in desired_taints
    ]
    missing = [named for named in desired_taints if named not in set(map(_named, kept_taints))]
    if not missing and len(kept_taints) == len(have):
        return None
    return kept_taints + [Taint(key=key, effect=effect, timeAdded=now) for key, effect in missing]


def _named(taint: Taint) -> Named:
    return taint.key, taint.effect


def spec_patch(node: Node, *, evict: bool, now: datetime) -> Tree | None:
    """Return the merge patch of taints and labels for this version of the Node; None if up to date."""
    patch: Tree = {}
    metadata: Tree = {}
    taints = wanted_taints(node, evict=evict, now=now)
    if taints is not None:
        metadata["resourceVersion"] = resource_version_of(node)
        patch["spec"] = {"taints": msgspec.to_builtins(taints) or None}
    labels = mirrored_labels(node)
    if labels:
        metadata["labels"] = labels
    return {**patch, "metadata": metadata} if metadata else None


def mirrored_labels(node: Node) -> dict[str, str]:
    """Return the deprecated labels that differ from their successors."""
    labels = labels_of(node)
    return {
        old: labels[new] for new, old in _MIRRORED_LABELS.items() if new in labels and labels.get(old) != labels[new]
    }


def silent(node: Node, *, now: datetime) -> Node | None:
    """Return the Node with conditions ``Unknown``, as its kubelet stopped posting; None if ``Ready`` is already."""
    conditions = list((node.status.conditions if node.status else None) or ())
    before = find_condition(conditions, "Ready")
    created = metadata_field(node, "creationTimestamp")
    for type_ in _KUBELET_CONDITIONS:
        old = find_condition(conditions, type_)
        if old is None:
            conditions.append(_never_updated(type_, created=created, now=now))
        elif old.status != "Unknown":
            conditions[conditions.index(old)] = replaced(
                old,
                status="Unknown",
                reason="NodeStatusUnknown",
                message="Kubelet stopped posting node status.",
                lastTransitionTime=now,
            )
    if find_condition(conditions, "Ready") == before:
        return None
    return replaced(node, status=replaced(node.status, conditions=conditions))


def _never_updated(type_: str, *, created: datetime, now: datetime) -> NodeCondition:
    return NodeCondition(
        type=type_,
        status="Unknown",
        reason="NodeStatusNeverUpdated",
        message="Kubelet never posted node status.",
        lastHeartbeatTime=created,
        lastTransitionTime=now,
    )


def unready_pods(pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods of a not ready Node that are ready."""
    return [pod for pod in pods if (ready := ready_condition(pod)) is not None and ready.status != "False"]


def unready_patch(pod: Pod, *, now: str) -> Tree:
    """Return the strategic merge patch that sets a pod's ``Ready`` condition to False."""
    generation = metadata_field(pod, "generation")
    condition: Tree = {"type": "Ready", "status": "False", "lastTransitionTime": now}
    status: Tree = {"conditions": [condition]}
    if generation:
        condition["observedGeneration"] = status["observedGeneration"] = generation
    return {"metadata": {"uid": metadata_field(pod, "uid")}, "status": status}
