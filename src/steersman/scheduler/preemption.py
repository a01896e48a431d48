"""Preemption: selection of a node and of victims for a pod that fits nowhere (``DefaultPreemption``).

Upstream: ``pkg/scheduler/framework/preemption``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.scheduler.fit_error import FitError, counted
from steersman.scheduler.framework import ExtenderError, PreFilterRejection, Rejection, Victims
from steersman.scheduler.matching import label_selector

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.scheduler.framework import Extenders, Nominations, PodFilter
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.profile import Profile
    from steersman.scheduler.snapshot import Snapshot

_NAME: Final = "DefaultPreemption"
#: Condition type and reason of preempted pods (KEP-3329).
DISRUPTION_TARGET: Final = "DisruptionTarget"
BY_SCHEDULER: Final = "PreemptionByScheduler"
_NO_HELP: Final = "Preemption is not helpful for scheduling"
_NO_VICTIMS: Final = Rejection(_NAME, ("No preemption victims found for incoming pod",), resolvable=False)
#: Makes priorities non-negative, so that fewer victims always have the smaller sum.
_PRIORITY_OFFSET: Final = 2**31


class PreemptionResult(NamedTuple):
    """Result of the DefaultPreemption PostFilter plugin."""

    victims: Victims | None
    #: Message for the pod's condition when there are no victims.
    message: str = ""


class Preemption:
    """Simulates nodes without their lower-priority pods."""

    def __init__(self, cluster: Snapshot, *, dice: random.Random, extenders: Extenders | None = None) -> None:
        self._cluster = cluster
        self._dice = dice
        self._extenders = extenders

    async def preempt(
        self, pod: PodInfo, profile: Profile, failure: FitError, nominations: Nominations, budgets: Sequence[Any]
    ) -> PreemptionResult:
        """Select a node and victims for a pod that failed with ``failure``. ``budgets`` are PodDisruptionBudgets."""
        refusal = self._ineligible_reason(pod, failure)
        if refusal:
            return PreemptionResult(None, f"preemption: {refusal}")
        resolvable_nodes = [name for name, rejection in failure.rejections.items() if rejection.resolvable]
        statuses: dict[str, Rejection] = {}
        search = _PreemptionContext(pod, profile, nominations, budgets)
        candidates = self._find_candidates(search, resolvable_nodes, statuses)
        if candidates:
            return await self._select(pod, candidates)
        reasons = [reason for status in statuses.values() for reason in status.reasons]
        reasons += [_NO_HELP] * (failure.nodes - len(resolvable_nodes))
        return PreemptionResult(None, f"preemption: 0/{failure.nodes} nodes are available: {counted(reasons)}.")

    async def _select(self, pod: PodInfo, candidates: Sequence[Victims]) -> PreemptionResult:
        """Select one of the candidates that the extenders accept. Upstream: ``Evaluator.Preempt``."""
        if self._extenders is not None:
            try:
                candidates = await self._extenders.process_preemption(pod, candidates, self._cluster)
            except ExtenderError as error:
                return PreemptionResult(None, f"preemption: {error}")
            if not candidates:
                return PreemptionResult(None, "preemption: no candidate node for preemption")
        return PreemptionResult(_select_candidate(candidates))

    def _ineligible_reason(self, pod: PodInfo, failure: FitError) -> str:
        if not pod.may_preempt:
            return "not eligible due to preemptionPolicy=Never."
        node = self._cluster.get(pod.nominated_node) if pod.nominated_node else None
        if node is None:
            return ""
        rejection = failure.rejections.get(node.name)
        if rejection is not None and not rejection.resolvable:
            return ""
        if any(other.priority < pod.priority and _is_terminating_by_preemption(other) for other in node.pods.values()):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _find_candidates(
        self, search: _PreemptionContext, names: Sequence[str], statuses: dict[str, Rejection]
    ) -> list[Victims]:
        """Return candidate nodes with their victims, starting at a random node.

        The search continues until at least one candidate violates no PodDisruptionBudget.
        """
        if not names:
            return []
        try:
            filters = search.profile.pre_filter(search.pod, self._cluster)
        except PreFilterRejection:
            return []
        limit = _candidates_to_compare(len(names), search.profile.settings.args[_NAME])
        start = self._dice.randrange(len(names))
        candidates: list[Victims] = []
        without_violations = 0
        for name in (*names[start:], *names[:start]):
            node = self._cluster.get(name)
            if node is None:
                continue
            result = _select_victims_on_node(search, node, filters)
            if isinstance(result, Victims):
                candidates.append(result)
                without_violations += not result.violations
                if without_violations and len(candidates) >= limit:
                    break
            else:
                statuses[name] = result
        return candidates


class _PreemptionContext(NamedTuple):
    """The preempting pod and its context."""

    pod: PodInfo
    profile: Profile
    nominations: Nominations
    budgets: Sequence[Any]


def _candidates_to_compare(nodes: int, args: Mapping[str, int]) -> int:
    """Return the number of candidates to compare (``DefaultPreemptionArgs``)."""
    share = nodes * args["minCandidateNodesPercentage"] // 100
    return max(args["minCandidateNodesAbsolute"], share)


def _select_victims_on_node(
    search: _PreemptionContext, node: NodeInfo, filters: Sequence[PodFilter]
) -> Victims | Rejection:
    """Remove all lower-priority pods from the node, then reprieve as many as fit. Upstream: ``SelectVictimsOnNode``."""
    pod = search.pod
    lower_priority = [other for other in node.pods.values() if other.priority < pod.priority]
    if not lower_priority:
        return _NO_VICTIMS
    simulated = _SimulatedNode(search.profile, pod, node, filters)
    for other in search.nominations.get(node.name, {}).values():
        if other.priority >= pod.priority and other.uid != pod.uid:
            simulated.move(other, 1)
    for other in lower_priority:
        simulated.move(other, -1)
    rejection = simulated.rejection()
    if rejection is not None:
        return rejection
    lower_priority.sort(key=importance)
    protected, free = _partition_by_pdb(lower_priority, search.budgets)
    violations = 0
    victims: list[PodInfo] = []
    for other in (*protected, *free):
        if not simulated.reprieve(other):
            victims.append(other)
            violations += other in protected
    if not victims:
        return _NO_VICTIMS
    return Victims(node.name, tuple(sorted(victims, key=importance)), violations)


class _SimulatedNode:
    """A copy of a node with its filters, for simulations."""

    def __init__(self, profile: Profile, pod: PodInfo, node: NodeInfo, filters: Sequence[PodFilter]) -> None:
        self._profile = profile
        self._pod = pod
        self._node = node.copy()
        self._filters = list(filters)

    def move(self, other: PodInfo, sign: int) -> None:
        """Add another pod (``sign`` 1) or remove it (-1)."""
        if sign > 0:
            self._node.add(other)
        else:
            self._node.remove(other.uid)
        self._filters = [pod_filter.with_pod(other, self._node, sign) for pod_filter in self._filters]

    def rejection(self) -> Rejection | None:
        """Return why the pod does not fit on the simulated node, or None."""
        return self._profile.filter(self._pod, self._node, self._filters)

    def reprieve(self, other: PodInfo) -> bool:
        """Put a pod back if the incoming pod still fits; return whether it was reprieved. Upstream: ``reprievePod``."""
        before = self._filters
        self.move(other, 1)
        if self.rejection() is None:
            return True
        self._node.remove(other.uid)
        self._filters = before
        return False


def _is_terminating_by_preemption(pod: PodInfo) -> bool:
    """Report whether the pod terminates because of a preemption.

    Pods deleted for other reasons may take long to terminate and do not count.
    """
    status = pod.pod.status if pod.is_terminating else None
    conditions = (status.conditions if status is not None else None) or ()
    condition = next((condition for condition in conditions if condition.type == DISRUPTION_TARGET), None)
    return condition is not None and (condition.status, condition.reason) == ("True", BY_SCHEDULER)


def importance(pod: PodInfo) -> tuple[int, float]:
    """Sort key, most important pods first: priority, then start time. Upstream: ``MoreImportantPod``."""
    return -pod.priority, pod.started.timestamp() if pod.started is not None else float("inf")


def _partition_by_pdb(pods: Iterable[PodInfo], budgets: Sequence[Any]) -> tuple[list[PodInfo], list[PodInfo]]:
    """Split pods into those whose eviction violates a budget and the others. Upstream: ``filterPodsWithPDBViolation``."""
    allowed = [
        [budget.metadata.namespace, label_selector(budget.spec.selector), *_allowance(budget)] for budget in budgets
    ]
    protected: list[PodInfo] = []
    free: list[PodInfo] = []
    for pod in pods:
        violates = False
        for budget in allowed:
            namespace, selector, _, disrupted = budget
            if not pod.labels or namespace != pod.namespace or selector.is_empty or not selector.matches(pod.labels):
                continue
            if pod.name in disrupted:
                continue  # already counted as disrupted
            budget[2] -= 1
            violates = violates or budget[2] < 0
        (protected if violates else free).append(pod)
    return protected, free


def _allowance(budget: Any) -> tuple[int, Any]:
    status = budget.status
    return (status.disruptionsAllowed or 0, status.disruptedPods or {}) if status is not None else (0, {})


def _select_candidate(candidates: Sequence[Victims]) -> Victims:
    """Select the best candidate; the first of equals. Upstream: ``pickOneNodeForPreemption``."""
    return min(candidates, key=_candidate_rank)


def _candidate_rank(candidate: Victims) -> tuple[int, int, int, int, float]:
    pods = candidate.pods
    highest = max(pod.priority for pod in pods)
    earliest = min(
        (pod.started.timestamp() if pod.started is not None else float("inf"))
        for pod in pods
        if pod.priority == highest
    )
    return (
        candidate.violations,
        highest,
        sum(pod.priority + _PRIORITY_OFFSET for pod in pods),
        len(pods),
        -earliest,
    )
