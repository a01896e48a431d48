"""Rules about room: whether a pod fits a node, and where it leaves the node best."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.scheduler.amounts import CPU, EPHEMERAL_STORAGE, MEMORY
from steersman.scheduler.framework import SCORE_MAX, LocalPlugin, Rejection

if TYPE_CHECKING:
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo

#: Told first, in this order; others after them.
_ORDER: Final = {CPU: 0, MEMORY: 1, EPHEMERAL_STORAGE: 2}


class NodeResourcesFit(LocalPlugin):
    """What the pods of a node request may not exceed what it has; emptier nodes are liked (``LeastAllocated``)."""

    name: ClassVar[str] = "NodeResourcesFit"
    scores: ClassVar[bool] = True

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        is_full = len(node.pods) + 1 > node.pods_max
        lacking = [
            (name, wanted > node.allocatable.get(name, 0))
            for name, wanted in pod.requests.items()
            if wanted > node.allocatable.get(name, 0) - node.requested.get(name, 0)
        ]
        if not lacking:
            return Rejection(self.name, ("Too many pods",)) if is_full else None
        lacking.sort(key=lambda each: _ORDER.get(each[0], len(_ORDER)))
        reasons = [f"Insufficient {name}" for name, _ in lacking]
        return Rejection(
            self.name,
            ("Too many pods", *reasons) if is_full else tuple(reasons),
            resolvable=not any(beyond for _, beyond in lacking),
        )

    def raw(self, pod: PodInfo, node: NodeInfo) -> int:
        score = weight = 0
        for name in (CPU, MEMORY):
            capacity = node.allocatable.get(name, 0)
            if not capacity:
                continue
            left = capacity - node.used[name] - pod.usage[name]
            score += left * SCORE_MAX // capacity if left > 0 else 0
            weight += 1
        return score // weight if weight else 0


class NodeResourcesBalancedAllocation(LocalPlugin):
    """Nodes are liked on which CPU and memory are used to like shares afterwards."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    scores: ClassVar[bool] = True

    def raw(self, pod: PodInfo, node: NodeInfo) -> int:
        if pod.is_best_effort:
            return 0
        shares = [
            min(1.0, (node.requested.get(name, 0) + pod.requests.get(name, 0)) / node.allocatable[name])
            for name in (CPU, MEMORY)
            if node.allocatable.get(name)
        ]
        # The standard deviation of two values is half their distance.
        spread = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
        return int((1 - spread) * SCORE_MAX)
