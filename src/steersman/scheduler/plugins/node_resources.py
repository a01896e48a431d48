"""Rules about room: whether a pod fits a node, and where it leaves the node best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from steersman.scheduler.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, is_extended, is_scalar
from steersman.scheduler.framework import SCORE_MAX, LocalPlugin, Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo

#: Told first, in this order; others after them.
_ORDER: Final = {CPU: 0, MEMORY: 1, EPHEMERAL_STORAGE: 2}
#: Scores in a configuration go to 10.
_SHAPE_FACTOR: Final = 10


class NodeResourcesFit(LocalPlugin):
    """What the pods of a node request may not exceed what it has; how much of it is used is liked as the strategy says."""

    name: ClassVar[str] = "NodeResourcesFit"
    scores: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any], in_devices: Mapping[str, Any]) -> None:
        """``args``: ``NodeResourcesFitArgs`` with their defaults; ``in_devices``: resources that devices can serve as."""
        self._in_devices: Final = in_devices
        self._ignored: Final = frozenset(args.get("ignoredResources") or ())
        self._ignored_groups: Final = frozenset(args.get("ignoredResourceGroups") or ())
        strategy = args["scoringStrategy"]
        self._resources: Final = [(each["name"], each["weight"]) for each in strategy["resources"]]
        self._liking: Final = _liking(strategy)
        #: What nothing is worth does not count at all.
        self._skips_zero: Final = strategy["type"] == "RequestedToCapacityRatio"

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        is_full = len(node.pods) + 1 > node.pods_max
        lacking = [
            (name, wanted > node.allocatable.get(name, 0))
            for name, wanted in pod.requests.items()
            if wanted > node.allocatable.get(name, 0) - node.requested.get(name, 0) and not self._ignores(name, node)
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

    def _ignores(self, resource: str, node: NodeInfo) -> bool:
        """Whether it is left to others: by configuration, or to devices where the node itself has none (KEP-5004)."""
        if is_extended(resource) and (resource in self._ignored or resource.partition("/")[0] in self._ignored_groups):
            return True
        return resource in self._in_devices and not node.allocatable.get(resource)

    def raw(self, pod: PodInfo, node: NodeInfo) -> int:
        score = total = 0
        for name, weight in self._resources:
            capacity = node.allocatable.get(name, 0)
            if not capacity or (name not in pod.requests and is_scalar(name)):
                continue
            used, own = (node.used, pod.usage) if name in pod.usage else (node.requested, pod.requests)
            liking = self._liking(used.get(name, 0) + own.get(name, 0), capacity)
            if liking or not self._skips_zero:
                score += weight * liking
                total += weight
        if not total:
            return 0
        return (2 * score + total) // (2 * total) if self._skips_zero else score // total


def _liking(strategy: Mapping[str, Any]) -> Callable[[int, int], int]:
    """How much it is liked that so much of a capacity would be used."""
    match strategy["type"]:
        case "MostAllocated":
            return _most_allocated
        case "RequestedToCapacityRatio":
            return _Shape(strategy["requestedToCapacityRatio"]["shape"])
        case _:
            return _least_allocated


def _least_allocated(used: int, capacity: int) -> int:
    return (capacity - used) * SCORE_MAX // capacity if used < capacity else 0


def _most_allocated(used: int, capacity: int) -> int:
    """A node may look more than full, as pods without requests are taken to use a little."""
    return min(used, capacity) * SCORE_MAX // capacity


class _Point(NamedTuple):
    utilization: int
    score: int


class _Shape:
    """A line through points, flat beyond the first and the last (``RequestedToCapacityRatio``)."""

    def __init__(self, points: Sequence[Mapping[str, int]]) -> None:
        self._points: Final = [_Point(each["utilization"], each["score"] * _SHAPE_FACTOR) for each in points]

    def __call__(self, used: int, capacity: int) -> int:
        at = 100 if used > capacity else used * 100 // capacity
        before = None
        for point in self._points:
            if at <= point.utilization:
                return point.score if before is None else _between(before, point, at)
            before = point
        return self._points[-1].score


def _between(left: _Point, right: _Point, at: int) -> int:
    """Go divides towards zero."""
    rise = (right.score - left.score) * (at - left.utilization)
    run = right.utilization - left.utilization
    return left.score + (rise // run if rise >= 0 else -(-rise // run))


class NodeResourcesBalancedAllocation(LocalPlugin):
    """Nodes are liked whose resources would be used to more equal shares than now."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    scores: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        """``args``: ``NodeResourcesBalancedAllocationArgs`` with their defaults."""
        self._resources: Final = tuple(each["name"] for each in args["resources"])

    def raw(self, pod: PodInfo, node: NodeInfo) -> int:
        requests, requested, allocatable = pod.requests, node.requested, node.allocatable
        if not any(name in requests for name in self._resources):
            return 0
        before, after = [], []
        for name in self._resources:
            capacity = allocatable.get(name, 0)
            if capacity and (name in requests or not is_scalar(name)):
                taken = requested.get(name, 0)
                before.append(min(1.0, taken / capacity))
                after.append(min(1.0, (taken + requests.get(name, 0)) / capacity))
        # From 50 to 100, 75 where it makes no difference (kubernetes/kubernetes#135573).
        return SCORE_MAX // 2 + (SCORE_MAX // 2 + _balance(after) - _balance(before)) // 2


def _balance(shares: Sequence[float]) -> int:
    """100 less the standard deviation."""
    if len(shares) < 2:
        return SCORE_MAX
    if len(shares) == 2:
        return int((1 - abs((shares[0] - shares[1]) / 2)) * SCORE_MAX)
    mean = sum(shares) / len(shares)
    deviation = (sum((share - mean) ** 2 for share in shares) / len(shares)) ** 0.5
    return int((1 - deviation) * SCORE_MAX)
