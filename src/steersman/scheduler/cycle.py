"""The scheduling cycle for one pod: PreFilter, Filter, extenders, PreScore, Score and selection of a node.

It is suspended only while extenders respond; without extenders it completes at once, so that the cluster never changes
within it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.scheduler.fit_error import FitError
from steersman.scheduler.framework import EXTENDER, ExtenderError, Nominations, PreFilterRejection, Rejection
from steersman.scheduler.profile import run_filters

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from steersman.scheduler.framework import Extenders, PodFilter
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.node_results import NodeResult
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.profile import Profile
    from steersman.scheduler.snapshot import Snapshot

_log = logging.getLogger(__name__)

#: Upstream: ``minFeasibleNodesToFind`` and ``minFeasibleNodesPercentageToFind``.
_FEASIBLE_NODES_MIN: Final = 100
_PERCENTAGE_MIN: Final = 5
_NOT_IN_PREFILTER_RESULT: Final = Rejection(
    "NodeAffinity", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), resolvable=False
)

#: Feasible nodes with the results of the local plugins.
Feasible = list[tuple["NodeInfo", "NodeResult"]]


class Decision(NamedTuple):
    """The selected node. Upstream: ``ScheduleResult``."""

    node: NodeInfo
    #: Numbers of nodes that were evaluated and that passed all filters.
    evaluated: int
    feasible: int


async def _passing(
    pod: PodInfo, extenders: Extenders, feasible: Feasible, rejections: dict[str, Rejection]
) -> Feasible:
    """Return the feasible nodes that pass the extenders; adds their rejections. Raises ``ExtenderError``."""
    results = dict(feasible)
    return [(node, results[node]) for node in await extenders.filter(pod, list(results), rejections)]


class SchedulingCycle:
    """Scheduling cycles, one pod after another; each search starts at the node after the last one evaluated."""

    def __init__(self, cluster: Snapshot, *, dice: random.Random, extenders: Extenders | None = None) -> None:
        self._cluster = cluster
        self._dice = dice
        self._extenders = extenders
        self._start = 0
        self.nominations: Final[Nominations] = {}

    async def schedule(self, pod: PodInfo, profile: Profile) -> Decision:
        """Select a node for the pod. Raises ``FitError``, ``ExtenderError``."""
        nodes = self._cluster.nodes
        if not nodes:
            raise FitError(0, {})
        try:
            candidates = self._candidates(pod) if profile.uses_prefilter_result else nodes
            filters = profile.pre_filter(pod, self._cluster)
        except PreFilterRejection as blocked:
            rejection = Rejection(blocked.plugin, (blocked.reason,))
            resolvable = {node.name: rejection for node in nodes} if blocked.resolvable else {}
            raise FitError(len(nodes), resolvable, blocked.reason, by=blocked.plugin) from None
        rejections: dict[str, Rejection] = {}
        silent: frozenset[str] = frozenset()
        feasible = self._nominated_candidate(pod, profile, filters)
        if feasible and self._extenders is not None:
            feasible = await self._accept_nominated(pod, self._extenders, feasible, rejections)
        if not feasible:
            feasible = self._find_feasible_nodes(pod, profile, candidates, filters=filters, rejections=rejections)
            if self._extenders is not None:
                count = len(feasible)
                feasible = await _passing(pod, self._extenders, feasible, rejections)
                silent = frozenset({EXTENDER}) if len(feasible) != count else silent
        if not feasible:
            if candidates is not nodes:
                named = {node.name for node in candidates}
                rejections.update((node.name, _NOT_IN_PREFILTER_RESULT) for node in nodes if node.name not in named)
            raise FitError(len(nodes), rejections, silent=silent)
        chosen = feasible[0][0] if len(feasible) == 1 else await self._select_host(pod, profile, feasible)
        return Decision(chosen, len(feasible) + len(rejections), len(feasible))

    async def _accept_nominated(
        self, pod: PodInfo, extenders: Extenders, nominated: Feasible, rejections: dict[str, Rejection]
    ) -> Feasible:
        """Return the nominated node if the extenders accept it; an error leads to the search among all nodes."""
        try:
            return await _passing(pod, extenders, nominated, rejections)
        except ExtenderError as error:
            _log.warning("extenders could not evaluate the nominated node of pod %s: %s", pod.key, error)
            return []

    def _candidates(self, pod: PodInfo) -> Sequence[NodeInfo]:
        """Return all nodes, or those that the pod's node affinity names."""
        if pod.named_nodes is None:
            return self._cluster.nodes
        if not pod.named_nodes:
            raise PreFilterRejection("NodeAffinity", "pod affinity terms conflict")
        named = (self._cluster.get(name) for name in sorted(pod.named_nodes))
        return [node for node in named if node is not None]

    def _nominated_candidate(self, pod: PodInfo, profile: Profile, filters: Sequence[PodFilter]) -> Feasible:
        """Return the nominated node if it passes all filters. Upstream: ``evaluateNominatedNode``."""
        node = self._cluster.get(pod.nominated_node) if pod.nominated_node else None
        if node is None:
            return []
        result, rejection = self._filter_node(pod, profile, node, filters, profile.node_results.results_for(pod))
        return [] if rejection is not None else [(node, result)]

    def _find_feasible_nodes(
        self,
        pod: PodInfo,
        profile: Profile,
        nodes: Sequence[NodeInfo],
        *,
        filters: Sequence[PodFilter],
        rejections: dict[str, Rejection],
    ) -> Feasible:
        """Return feasible nodes, at most as many as are to be scored; adds the rejections of the others."""
        feasible: Feasible = []
        # Without score plugins and extenders the first feasible node is selected.
        limit = (
            _num_feasible_nodes_to_find(len(nodes), profile.percentage_of_nodes)
            if profile.local_score_plugins or profile.score_plugins or self._uses_all_feasible_nodes
            else 1
        )
        start = self._start % len(nodes) if nodes else 0
        results = profile.node_results.results_for(pod)
        evaluated_nodes = 0
        for node in (*nodes[start:], *nodes[:start]) if start else nodes:
            evaluated_nodes += 1
            cached = results.get(node.name)  # inlined from ``_filter_node``: this loop is the hot path
            if (
                cached is not None
                and cached[0] == node.generation
                and not filters
                and node.name not in self.nominations
            ):
                result, rejection = cached, cached[1]
            else:
                result, rejection = self._filter_node(pod, profile, node, filters, results)
            if rejection is not None:
                rejections[node.name] = rejection
                continue
            feasible.append((node, result))
            if len(feasible) >= limit:
                break
        self._start = start + evaluated_nodes
        return feasible

    @property
    def _uses_all_feasible_nodes(self) -> bool:
        """True if extenders filter or score the feasible nodes."""
        extenders = self._extenders
        return extenders is not None and (extenders.has_filters or extenders.has_prioritizers)

    def _filter_node(
        self,
        pod: PodInfo,
        profile: Profile,
        node: NodeInfo,
        filters: Sequence[PodFilter],
        results: dict[str, NodeResult],
    ) -> tuple[NodeResult, Rejection | None]:
        result = profile.node_results.evaluate(pod, node, results)
        rejection = result.rejection or (run_filters(filters, node) if filters else None)
        if rejection is None and node.name in self.nominations:
            rejection = self._filter_with_nominated_pods(pod, profile, node, filters)
        return result, rejection

    def _filter_with_nominated_pods(
        self, pod: PodInfo, profile: Profile, node: NodeInfo, filters: Sequence[PodFilter]
    ) -> Rejection | None:
        """Run the filters again with the nominated pods of equal or higher priority added to the node.

        Upstream: ``RunFilterPluginsWithNominatedPods``.
        """
        others = [
            other
            for other in self.nominations[node.name].values()
            if other.priority >= pod.priority and other.uid != pod.uid
        ]
        if not others:
            return None
        trial = node.copy()
        for other in others:
            trial.add(other)
            filters = [pod_filter.with_pod(other, trial, 1) for pod_filter in filters]
        return profile.filter(pod, trial, filters)

    async def _select_host(self, pod: PodInfo, profile: Profile, feasible: Feasible) -> NodeInfo:
        nodes = [node for node, _ in feasible]
        totals = [0] * len(nodes)
        for column, (plugin, weight) in zip(
            zip(*(result.scores for _, result in feasible), strict=True), profile.local_score_plugins, strict=True
        ):
            totals = [
                total + weight * score for total, score in zip(totals, plugin.normalize_scores(column), strict=True)
            ]
        for other, weight in profile.score_plugins:
            scorer = other.pre_score(pod, self._cluster)
            if scorer is not None:
                scores = scorer.normalize_scores([scorer(node) for node in nodes], nodes)
                totals = [total + weight * score for total, score in zip(totals, scores, strict=True)]
        if self._extenders is not None and self._extenders.has_prioritizers:
            extra = await self._extenders.prioritize(pod, nodes)
            totals = [total + extra.get(node.name, 0) for total, node in zip(totals, nodes, strict=True)]
        best = max(totals)
        return self._dice.choice([node for node, total in zip(nodes, totals, strict=True) if total == best])

    # Nominations

    def add_nomination(self, pod: PodInfo, node: str) -> None:
        """Record ``node`` as the pod's nominated node."""
        self.remove_nomination(pod.uid)
        self.nominations.setdefault(node, {})[pod.uid] = pod

    def remove_nomination(self, uid: str) -> None:
        """Remove the pod's nomination. Idempotent."""
        for node, pods in list(self.nominations.items()):
            if pods.pop(uid, None) is not None and not pods:
                del self.nominations[node]


def _num_feasible_nodes_to_find(nodes: int, percentage_of_nodes: int) -> int:
    """Return how many feasible nodes to look for among ``nodes``. Upstream: ``numFeasibleNodesToFind``."""
    if nodes < _FEASIBLE_NODES_MIN or percentage_of_nodes >= 100:
        return nodes
    percentage_of_nodes = percentage_of_nodes or max(50 - nodes // 125, _PERCENTAGE_MIN)
    return max(nodes * percentage_of_nodes // 100, _FEASIBLE_NODES_MIN)
