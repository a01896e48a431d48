"""Whom to evict so that a more important pod finds a node (``DefaultPreemption``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.scheduler.framework import Blocked, Rejection
from steersman.scheduler.matching import label_selector
from steersman.scheduler.messages import FitError, counted

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.scheduler.cycle import Nominations, Profile
    from steersman.scheduler.framework import Check
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

_NAME: Final = "DefaultPreemption"
#: The condition of a pod that is evicted, and its reason when a scheduler does it (KEP-3329).
DISRUPTION_TARGET: Final = "DisruptionTarget"
BY_SCHEDULER: Final = "PreemptionByScheduler"
_NO_HELP: Final = "Preemption is not helpful for scheduling"
_NO_VICTIMS: Final = Rejection(_NAME, ("No preemption victims found for incoming pod",), resolvable=False)
#: Added to each priority, so that a node with fewer victims has the smaller sum also where priorities are negative.
_PRIORITY_OFFSET: Final = 2**31


class Victims(NamedTuple):
    """Who must leave a node."""

    node: str
    #: The most important first; those that a budget protects come before the others.
    pods: tuple[PodInfo, ...]
    #: How many of them a disruption budget would have kept.
    violations: int


class Outcome(NamedTuple):
    """What preemption came to."""

    victims: Victims | None
    #: For the pod's condition, when there is nobody to evict.
    message: str = ""


class Preemption:
    """Tries nodes as they would be without their less important pods."""

    def __init__(self, cluster: Snapshot, *, dice: random.Random) -> None:
        self._cluster = cluster
        self._dice = dice

    def find(
        self, pod: PodInfo, profile: Profile, failure: FitError, nominations: Nominations, budgets: Sequence[Any]
    ) -> Outcome:
        """Whom to evict for a pod that found no node for these reasons. ``budgets`` are PodDisruptionBudgets."""
        refusal = self._ineligible(pod, failure)
        if refusal:
            return Outcome(None, f"preemption: {refusal}")
        hopeful = [name for name, rejection in failure.rejections.items() if rejection.resolvable]
        statuses: dict[str, str] = {}
        search = _Search(pod, profile, nominations, budgets)
        found = self._candidates(search, hopeful, statuses)
        if found:
            return Outcome(_best(found))
        reasons = [*statuses.values(), *[_NO_HELP] * (failure.nodes - len(hopeful))]
        return Outcome(None, f"preemption: 0/{failure.nodes} nodes are available: {counted(reasons)}.")

    def _ineligible(self, pod: PodInfo, failure: FitError) -> str:
        if not pod.may_preempt:
            return "not eligible due to preemptionPolicy=Never."
        node = self._cluster.get(pod.nominated_node) if pod.nominated_node else None
        if node is None:
            return ""
        rejection = failure.rejections.get(node.name)
        if rejection is not None and not rejection.resolvable:
            return ""
        if any(other.priority < pod.priority and _is_leaving(other) for other in node.pods.values()):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _candidates(self, search: _Search, names: Sequence[str], statuses: dict[str, str]) -> list[Victims]:
        """Nodes that would do, with their victims: enough of them, from any place in the list.

        One at least should keep to all budgets: as long as there is none, the search goes on.
        """
        if not names:
            return []
        try:
            checks = search.profile.checks(search.pod, self._cluster)
        except Blocked:
            return []
        enough = _enough(len(names), search.profile.settings.args[_NAME])
        start = self._dice.randrange(len(names))
        found: list[Victims] = []
        harmless = 0
        for name in (*names[start:], *names[:start]):
            node = self._cluster.get(name)
            if node is None:
                continue
            result = _victims(search, node, checks)
            if isinstance(result, Victims):
                found.append(result)
                harmless += not result.violations
                if harmless and len(found) >= enough:
                    break
            else:
                statuses[name] = ", ".join(result.reasons)
        return found


class _Search(NamedTuple):
    """For whom, and what is to be minded."""

    pod: PodInfo
    profile: Profile
    nominations: Nominations
    budgets: Sequence[Any]


def _enough(nodes: int, args: Mapping[str, int]) -> int:
    """How many candidates are worth comparing (``DefaultPreemptionArgs``)."""
    share = nodes * args["minCandidateNodesPercentage"] // 100
    return max(args["minCandidateNodesAbsolute"], share)


def _victims(search: _Search, node: NodeInfo, checks: Sequence[Check]) -> Victims | Rejection:
    """As few and as unimportant pods of a node as will do: all lesser ones go, then those that may stay return."""
    pod = search.pod
    lesser = [other for other in node.pods.values() if other.priority < pod.priority]
    if not lesser:
        return _NO_VICTIMS
    trial = _Trial(search.profile, pod, node, checks)
    for other in search.nominations.get(node.name, {}).values():
        if other.priority >= pod.priority and other.uid != pod.uid:
            trial.move(other, 1)
    for other in lesser:
        trial.move(other, -1)
    rejection = trial.rejection()
    if rejection is not None:
        return rejection
    lesser.sort(key=importance)
    protected, free = _by_budget(lesser, search.budgets)
    violations = 0
    victims: list[PodInfo] = []
    for other in (*protected, *free):
        if not trial.returns(other):
            victims.append(other)
            violations += other in protected
    if not victims:
        return _NO_VICTIMS
    return Victims(node.name, tuple(sorted(victims, key=importance)), violations)


class _Trial:
    """A node as it might be."""

    def __init__(self, profile: Profile, pod: PodInfo, node: NodeInfo, checks: Sequence[Check]) -> None:
        self._profile = profile
        self._pod = pod
        self._node = node.copy()
        self._checks = list(checks)

    def move(self, other: PodInfo, sign: int) -> None:
        """Have a pod come, or leave."""
        if sign > 0:
            self._node.add(other)
        else:
            self._node.remove(other.uid)
        self._checks = [check.moved(other, self._node, sign) for check in self._checks]

    def rejection(self) -> Rejection | None:
        """Why the node still is none."""
        return self._profile.reject(self._pod, self._node, self._checks)

    def returns(self, other: PodInfo) -> bool:
        """Let a pod come back if the node then still will do."""
        before = self._checks
        self.move(other, 1)
        if self.rejection() is None:
            return True
        self._node.remove(other.uid)
        self._checks = before
        return False


def _is_leaving(pod: PodInfo) -> bool:
    """Whether a pod terminates because a scheduler evicts it; others terminate for their own reasons, and may take long."""
    status = pod.pod.status if pod.is_terminating else None
    conditions = (status.conditions if status is not None else None) or ()
    told = next((each for each in conditions if each.type == DISRUPTION_TARGET), None)
    return told is not None and (told.status, told.reason) == ("True", BY_SCHEDULER)


def importance(pod: PodInfo) -> tuple[int, float]:
    """Sorts the most important pods first: by priority, then by how long they have run."""
    return -pod.priority, pod.started.timestamp() if pod.started is not None else float("inf")


def _by_budget(pods: Iterable[PodInfo], budgets: Sequence[Any]) -> tuple[list[PodInfo], list[PodInfo]]:
    """Pods whose eviction a budget does not allow any more when all go, and the others."""
    allowed = [[each.metadata.namespace, label_selector(each.spec.selector), *_allowance(each)] for each in budgets]
    protected: list[PodInfo] = []
    free: list[PodInfo] = []
    for pod in pods:
        violates = False
        for budget in allowed:
            namespace, selector, _, disrupted = budget
            if not pod.labels or namespace != pod.namespace or selector.is_empty or not selector.matches(pod.labels):
                continue
            if pod.name in disrupted:
                continue  # it was counted already
            budget[2] -= 1
            violates = violates or budget[2] < 0
        (protected if violates else free).append(pod)
    return protected, free


def _allowance(budget: Any) -> tuple[int, Any]:
    status = budget.status
    return (status.disruptionsAllowed or 0, status.disruptedPods or {}) if status is not None else (0, {})


def _best(candidates: Sequence[Victims]) -> Victims:
    """The node where least is lost; the first of several."""
    return min(candidates, key=_loss)


def _loss(candidate: Victims) -> tuple[int, int, int, int, float]:
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
