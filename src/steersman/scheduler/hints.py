"""Queueing hints: whether an event of a pod, node or claim can make an unschedulable pod schedulable (KEP-4247)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.scheduler.node_info import NodeInfo
from steersman.scheduler.plugins.volume_rules import disks_conflict
from steersman.scheduler.queue import ClusterEvent
from steersman.workloads.host_ports import is_taken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from steersman.scheduler.framework import LocalPlugin
    from steersman.scheduler.objects import Node
    from steersman.scheduler.pod_info import AffinityTerm, PodInfo, SpreadConstraint

    #: Plugin that rejected a pod, and this pod; True if the event may make it schedulable.
    QueueingHint = Callable[[str, PodInfo], bool]
    LabelsOf = Callable[[str], Mapping[str, str]]


def pod_queueing_hint(
    other: PodInfo, event: ClusterEvent, labels_of: LabelsOf, before: PodInfo | None = None
) -> QueueingHint:
    """Return the queueing hint for an event of ``other``; ``labels_of`` returns the labels of a namespace.

    ``before`` is ``other`` before an update.
    """

    def hint(blocker: str, pod: PodInfo) -> bool:
        match blocker:
            case "NodePorts":
                return any(is_taken(port, other.host_ports) for port in pod.host_ports)
            case "PodTopologySpread":
                # Default constraints may apply to pods without their own; they are not available here.
                states = (other,) if before is None else (other, before)
                return other.namespace == pod.namespace and (
                    not pod.spread
                    or any(constraint.selector.matches(state.labels) for constraint in pod.spread for state in states)
                )
            case "InterPodAffinity":
                return _affinity_hint(pod, other, event, labels_of)
            case "NodeVolumeLimits":
                return bool(other.claims)
            case "VolumeRestrictions":
                shares_claim = other.namespace == pod.namespace and not set(pod.claims).isdisjoint(other.claims)
                return shares_claim or disks_conflict(pod, other)
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


def claim_queueing_hint(namespace: str, name: str) -> QueueingHint:
    """Return the queueing hint for a new or updated PersistentVolumeClaim: only pods that use it are requeued."""
    return lambda _, pod: pod.namespace == namespace and name in pod.claims


class NodeHintContext(NamedTuple):
    """Functions of a pending pod that hints for nodes use."""

    #: Local filter plugins of the pod's profile, by name; they are evaluated on the node without its pods.
    local_filters: Callable[[PodInfo], Mapping[str, LocalPlugin]]
    #: Required anti-affinity terms of assigned pods that match the pod.
    existing_anti_affinity: Callable[[PodInfo], Sequence[AffinityTerm]]


def node_queueing_hint(before: Node | None, after: Node, context: NodeHintContext) -> QueueingHint:
    """Return the queueing hint for a new node (``before`` None) or an updated one.

    Upstream: ``isSchedulableAfterNodeChange`` of each plugin.
    """
    new = _without_pods(after)
    if before is None:
        return lambda blocker, pod: _can_use_new_node(blocker, pod, new, context)
    old = _without_pods(before)
    return lambda blocker, pod: _can_use_updated_node(blocker, pod, old, new, context)


def _without_pods(node: Node) -> NodeInfo:
    info = NodeInfo(node.metadata.name)
    info.set_node(node)
    return info


def _can_use_new_node(blocker: str, pod: PodInfo, node: NodeInfo, context: NodeHintContext) -> bool:
    match blocker:
        case "PodTopologySpread":
            return _has_spread_labels(pod, node)
        case "InterPodAffinity":
            return bool(
                pod.anti_affinity
                or any(term.topology_key in node.labels for term in pod.affinity)
                or context.existing_anti_affinity(pod)
            )
        case _:
            plugin = context.local_filters(pod).get(blocker)
            return plugin is None or plugin.filter(pod, node) is None


def _can_use_updated_node(blocker: str, pod: PodInfo, old: NodeInfo, new: NodeInfo, context: NodeHintContext) -> bool:
    plugin = context.local_filters(pod).get(blocker)
    match blocker:
        case "PodTopologySpread":
            has_labels = _has_spread_labels(pod, new)
            return has_labels != _has_spread_labels(pod, old) or (has_labels and _moved(pod.spread, old, new))
        case "InterPodAffinity":
            gained = (term for term in pod.affinity if term.topology_key in new.labels)
            anti_affinity = (*pod.anti_affinity, *context.existing_anti_affinity(pod))
            lost = (term for term in anti_affinity if term.topology_key in old.labels)
            return _moved(gained, old, new) or _moved(lost, old, new)
        case "NodePorts" | "VolumeRestrictions" | "NodeVolumeLimits":
            return False
        case "VolumeBinding" | "VolumeZone" | "DynamicResources":
            return old.labels != new.labels
        case "NodeResourcesFit":
            fits = plugin is None or plugin.filter(pod, new) is None
            return fits and _has_grown(pod, old, new)
        case _:
            return plugin is None or (plugin.filter(pod, new) is None and plugin.filter(pod, old) is not None)


def _has_spread_labels(pod: PodInfo, node: NodeInfo) -> bool:
    """Report whether the node has the topology labels of all ``DoNotSchedule`` constraints."""
    return all(constraint.topology_key in node.labels for constraint in pod.spread)


def _moved(terms: Iterable[AffinityTerm | SpreadConstraint], old: NodeInfo, new: NodeInfo) -> bool:
    """Report whether the node is in another topology domain of one of the terms than before."""
    return any(old.labels.get(term.topology_key) != new.labels.get(term.topology_key) for term in terms)


def _has_grown(pod: PodInfo, old: NodeInfo, new: NodeInfo) -> bool:
    """Report whether the node has more of a resource that the pod requests. Upstream:
    ``haveAnyRequestedResourcesIncreased``.
    """
    return new.pods_max > old.pods_max or any(
        new.allocatable.get(name, 0) > old.allocatable.get(name, 0) for name in pod.requests
    )
