"""Adapters: filters and scores of out-of-tree plugins as plugins of the scheduling cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.gotext import quote
from steersman.scheduler.framework import (
    SCORE_MAX,
    Plugin,
    PluginError,
    PodFilter,
    PodScorer,
    PreFilterRejection,
    Rejection,
)
from steersman.scheduler.out_of_tree.calls import call, expect, rejection_of
from steersman.scheduler.out_of_tree.interface import Code, PreFilterResult, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.out_of_tree.interface import CycleState
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot


class OutOfTreePlugin(Plugin):
    """The extension points PreFilter, Filter, PreScore and Score of one plugin, as far as the profile enables them."""

    name: ClassVar[str] = "OutOfTree"

    def __init__(
        self, name: str, plugin: Any, points: frozenset[str], state_of: Callable[[PodInfo], CycleState]
    ) -> None:
        """``points``: enabled extension points; ``state_of``: return the state of a pod's attempt."""
        self._name = name
        self._plugin = plugin
        self._points = points
        self._state_of = state_of

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> PodFilter | None:
        state, nodes = self._state_of(pod), None
        if "preFilter" in self._points:
            result = call(self._name, "PreFilter", self._plugin.pre_filter, state, pod, cluster.nodes)
            result = expect(self._name, "PreFilter", result, PreFilterResult)
            if isinstance(result, Status):
                if result.code is Code.SKIP:
                    return None
                rejection = rejection_of(self._name, result)
                raise PreFilterRejection(self._name, ", ".join(rejection.reasons), resolvable=rejection.resolvable)
            nodes = result.node_names if result is not None else None
        if nodes is None and "filter" not in self._points:
            return None
        return _Filter(self._name, self._plugin, pod, state, nodes, filters="filter" in self._points)

    def pre_score(self, pod: PodInfo, cluster: Snapshot) -> PodScorer:
        return _Scorer(self._name, self._plugin, self._points, pod, self._state_of(pod))


class _Filter(PodFilter):
    def __init__(
        self,
        name: str,
        plugin: Any,
        pod: PodInfo,
        state: CycleState,
        nodes: frozenset[str] | None,
        *,
        filters: bool,
    ) -> None:
        self._name = name
        self._plugin = plugin
        self._pod = pod
        self._state = state
        self._nodes = nodes
        self._filters = filters

    def __call__(self, node: NodeInfo) -> Rejection | None:
        if self._nodes is not None and node.name not in self._nodes:
            return Rejection(
                self._name, (f"node(s) didn't satisfy plugin(s) [{self._name}]",), resolvable=False
            )  # fmt: skip
        if not self._filters:
            return None
        result = call(self._name, "Filter", self._plugin.filter, self._state, self._pod, node)
        status = expect(self._name, "Filter", result)
        return None if status is None else rejection_of(self._name, status)

    def with_pod(self, pod: PodInfo, node: NodeInfo, sign: int) -> PodFilter:
        extension = getattr(self._plugin, "add_pod" if sign > 0 else "remove_pod", None)
        if extension is None:
            return self
        state = self._state.clone()
        call(self._name, "PreFilter", extension, state, self._pod, pod, node)
        return _Filter(self._name, self._plugin, self._pod, state, self._nodes, filters=self._filters)


class _Scorer(PodScorer):
    """Scores all feasible nodes at once, since PreScore needs all of them."""

    def __init__(self, name: str, plugin: Any, points: frozenset[str], pod: PodInfo, state: CycleState) -> None:
        self._name = name
        self._plugin = plugin
        self._points = points
        self._pod = pod
        self._state = state

    def __call__(self, node: NodeInfo) -> float:
        return 0

    def normalize_scores(self, raw: Sequence[float], nodes: Sequence[NodeInfo]) -> list[int]:
        name, plugin, state, pod = self._name, self._plugin, self._state, self._pod
        if "preScore" in self._points:
            status = expect(name, "PreScore", call(name, "PreScore", plugin.pre_score, state, pod, nodes))
            if status is not None and status.code is not Code.SKIP:
                raise PluginError(f"running PreScore plugin {quote(name)}: {status.message}")
            if status is not None:
                return [0] * len(nodes)
        if "score" not in self._points:
            return [0] * len(nodes)
        scores = {node.name: call(name, "Score", plugin.score, state, pod, node) for node in nodes}
        if hasattr(plugin, "normalize_scores"):
            scores = call(name, "Score", plugin.normalize_scores, state, pod, scores)
        return [self._checked(scores, node.name) for node in nodes]

    def _checked(self, scores: Any, node: str) -> int:
        score = scores.get(node) if isinstance(scores, dict) else None
        if not isinstance(score, int) or not 0 <= score <= SCORE_MAX:
            raise PluginError(
                f"plugin {quote(self._name)} returns an invalid score {score}, it should in the range of "
                f"[0, {SCORE_MAX}] after normalizing"
            )
        return score


#: Extension points of ``OutOfTreePlugin``.
FILTERING: Final = ("filter", "preFilter")
SCORING: Final = ("score", "preScore")
