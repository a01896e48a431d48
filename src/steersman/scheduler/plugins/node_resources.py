"""NodeResourcesFit and NodeResourcesBalancedAllocation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from steersman.scheduler.framework import SCORE_MAX, LocalPlugin, Rejection
from steersman.workloads.resources import CPU, EPHEMERAL_STORAGE, MEMORY, is_extended, is_scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo

#: Resources reported first, in this order.
_ORDER: Final = {CPU: 0, MEMORY: 1, EPHEMERAL_STORAGE: 2}
#: Shape scores range from 0 to 10, plugin scores from 0 to 100.
_SHAPE_FACTOR: Final = 10


class NodeResourcesFit(LocalPlugin):
    """Filters by requests against allocatable resources; scores utilization by the scoring strategy."""

    name: ClassVar[str] = "NodeResourcesFit"

    def __init__(self, args: Mapping[str, Any], in_devices: Mapping[str, Any]) -> None:
        """``args``: ``NodeResourcesFitArgs`` with defaults; ``in_devices``: extended resources provided by a
        DeviceClass.
        """
        self._in_devices: Final = in_devices
        self._ignored: Final = frozenset(args.get("ignoredResources") or ())
        self._ignored_groups: Final = frozenset(args.get("ignoredResourceGroups") or ())
        strategy = args["scoringStrategy"]
        self._resources: Final = [(resource["name"], resource["weight"]) for resource in strategy["resources"]]
        self._strategy_function: Final = _strategy_function(strategy)
        #: RequestedToCapacityRatio excludes resources with score 0 from the mean.
        self._skips_zero: Final = strategy["type"] == "RequestedToCapacityRatio"

    def filter(self, pod: PodInfo, node: NodeInfo) -> Rejection | None:
        is_full = len(node.pods) + 1 > node.pods_max
        lacking = [
            (name, requested > node.allocatable.get(name, 0))
            for name, requested in pod.requests.items()
            if requested > node.allocatable.get(name, 0) - node.requested.get(name, 0) and not self._ignores(name, node)
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
        """Report whether the resource is ignored by configuration, or provided by devices on this node (KEP-5004)."""
        if is_extended(resource) and (resource in self._ignored or resource.partition("/")[0] in self._ignored_groups):
            return True
        return resource in self._in_devices and not node.allocatable.get(resource)

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        score = total = 0
        for name, weight in self._resources:
            capacity = node.allocatable.get(name, 0)
            if not capacity or (name not in pod.requests and is_scalar(name)):
                continue
            used, own = (
                (node.nonzero_requested, pod.nonzero_requests)
                if name in pod.nonzero_requests
                else (node.requested, pod.requests)
            )
            resource_score = self._strategy_function(used.get(name, 0) + own.get(name, 0), capacity)
            if resource_score or not self._skips_zero:
                score += weight * resource_score
                total += weight
        if not total:
            return 0
        return (2 * score + total) // (2 * total) if self._skips_zero else score // total


def _strategy_function(strategy: Mapping[str, Any]) -> Callable[[int, int], int]:
    """Return the scoring function of a strategy: requested and capacity to score."""
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
    """Defaults for pods without requests can raise utilization above 100 %."""
    return min(used, capacity) * SCORE_MAX // capacity


class _Point(NamedTuple):
    utilization: int
    score: int


class _Shape:
    """Piecewise linear function, constant outside its points (``RequestedToCapacityRatio``)."""

    def __init__(self, points: Sequence[Mapping[str, int]]) -> None:
        self._points: Final = [_Point(point["utilization"], point["score"] * _SHAPE_FACTOR) for point in points]

    def __call__(self, used: int, capacity: int) -> int:
        at = 100 if used > capacity else used * 100 // capacity
        before = None
        for point in self._points:
            if at <= point.utilization:
                return point.score if before is None else _between(before, point, at)
            before = point
        return self._points[-1].score


def _between(left: _Point, right: _Point, at: int) -> int:
    """Interpolate, with division truncated towards zero as in Go."""
    rise = (right.score - left.score) * (at - left.utilization)
    run = right.utilization - left.utilization
    return left.score + (rise // run if rise >= 0 else -(-rise // run))


class NodeResourcesBalancedAllocation(LocalPlugin):
    """Prefers nodes whose resource utilization becomes more balanced."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"

    def __init__(self, args: Mapping[str, Any]) -> None:
        """``args``: ``NodeResourcesBalancedAllocationArgs`` with defaults."""
        self._resources: Final = tuple(resource["name"] for resource in args["resources"])

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        requests, requested, allocatable = pod.requests, node.requested, node.allocatable
        if not any(name in requests for name in self._resources):
            return 0
        before, after = [], []
        for name in self._resources:
            capacity = allocatable.get(name, 0)
            if capacity and (name in requests or not is_scalar(name)):
                used = requested.get(name, 0)
                before.append(min(1.0, used / capacity))
                after.append(min(1.0, (used + requests.get(name, 0)) / capacity))
        # Range 50-100; 75 if the balance does not change (kubernetes/kubernetes#135573).
        return SCORE_MAX // 2 + (SCORE_MAX // 2 + _balance(after) - _balance(before)) // 2


def _balance(shares: Sequence[float]) -> int:
    """Return 100 minus the standard deviation of utilization."""
    if len(shares) < 2:
        return SCORE_MAX
    if len(shares) == 2:
        return int((1 - abs((shares[0] - shares[1]) / 2)) * SCORE_MAX)
    mean = sum(shares) / len(shares)
    deviation = (sum((share - mean) ** 2 for share in shares) / len(shares)) ** 0.5
    return int((1 - deviation) * SCORE_MAX)
