"""NodeUnschedulable, NodeName, TaintToleration, NodeAffinity and NodePorts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
from lightkube.models.core_v1 import NodeAffinity as Affinity

from steersman.scheduler.framework import LocalPlugin, Rejection, default_normalize_score
from steersman.scheduler.matching import any_term, node_term
from steersman.workloads.node_matching import NO_SCHEDULE, PREFER_NO_SCHEDULE, tolerates, untolerated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo

#: Taint whose toleration allows pods on cordoned nodes.
UNSCHEDULABLE_TAINT: Final = "node.kubernetes.io/unschedulable"


class _UnschedulableTaint:
    """The taint equivalent to ``spec.unschedulable``."""

    key = UNSCHEDULABLE_TAINT
    effect = NO_SCHEDULE
    value = ""


class NodeUnschedulable(LocalPlugin):
    """Rejects cordoned nodes unless the pod tolerates the taint."""

    name: ClassVar[str] = "NodeUnschedulable"
    _REJECTION: Final = Rejection(name, ("node(s) were unschedulable",), resolvable=False)

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        taint: Any = _UnschedulableTaint
        if not node.unschedulable or any(tolerates(toleration, taint) for toleration in pod.tolerations):
            return None
        return self._REJECTION


class NodeName(LocalPlugin):
    """Accepts only the node in ``spec.nodeName``, if set."""

    name: ClassVar[str] = "NodeName"
    _REJECTION: Final = Rejection(name, ("node(s) didn't match the requested node name",), resolvable=False)

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        node_name = pod.pod.spec.nodeName
        return None if not node_name or node_name == node.name else self._REJECTION


class TaintToleration(LocalPlugin):
    """Filters by untolerated NoSchedule and NoExecute taints; scores by PreferNoSchedule taints."""

    name: ClassVar[str] = "TaintToleration"
    _REJECTION: Final = Rejection(name, ("node(s) had untolerated taint(s)",), resolvable=False)

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        taints = node.taints
        return self._REJECTION if taints and untolerated(taints, pod.tolerations) is not None else None

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return sum(
            1
            for taint in node.taints
            if taint.effect == PREFER_NO_SCHEDULE
            and not any(tolerates(toleration, taint) for toleration in pod.tolerations)
        )

    def normalize_scores(self, raw: Sequence[int]) -> list[int]:
        return default_normalize_score(raw, reverse=True)


class NodeAffinity(LocalPlugin):
    """Filters by nodeSelector and required node affinity; scores preferred node affinity."""

    name: ClassVar[str] = "NodeAffinity"
    _REJECTION: Final = Rejection(name, ("node(s) didn't match Pod's node affinity/selector",), resolvable=False)
    _ENFORCED: Final = Rejection(name, ("node(s) didn't match scheduler-enforced node affinity",), resolvable=False)

    def __init__(self, args: Mapping[str, Any]) -> None:
        """``args``: ``NodeAffinityArgs``; ``addedAffinity`` applies to every pod in addition to its own."""
        added = msgspec.convert(args.get("addedAffinity") or {}, Affinity)
        required = added.requiredDuringSchedulingIgnoredDuringExecution
        self._added: Final = any_term(required.nodeSelectorTerms) if required is not None else None
        self._preferred: Final = tuple(
            (preference.weight, node_term(preference.preference))
            for preference in added.preferredDuringSchedulingIgnoredDuringExecution or ()
            if preference.weight
        )

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        if self._added is not None and not self._added(node):
            return self._ENFORCED
        test = pod.node_test
        return None if test is None or test(node) else self._REJECTION

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return sum(weight for weight, test in (*self._preferred, *pod.preferred_nodes) if test(node))

    def normalize_scores(self, raw: Sequence[int]) -> list[int]:
        return default_normalize_score(raw)


class NodePorts(LocalPlugin):
    """Rejects nodes on which a host port is in use."""

    name: ClassVar[str] = "NodePorts"
    _REJECTION: Final = Rejection(name, ("node(s) didn't have free ports for the requested pod ports",))

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        return self._REJECTION if any(map(node.port_taken, pod.host_ports)) else None
