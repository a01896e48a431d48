"""One pod, one attempt: the nodes that will do, and the one of them that is liked best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.scheduler.framework import Blocked, Check, Rejection
from steersman.scheduler.messages import FitError
from steersman.scheduler.verdicts import Verdict, Verdicts

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from steersman.scheduler.configuration.settings import ProfileSettings
    from steersman.scheduler.framework import LocalPlugin, Plugin
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

#: Clusters of fewer nodes are searched as a whole.
_WHOLE_CLUSTER: Final = 100
_SHARE_MIN: Final = 5
_NOT_NAMED: Final = Rejection("NodeAffinity", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), resolvable=False)

#: Pods that were promised a node by preemption, by node.
Nominations = dict[str, dict[str, "PodInfo"]]


class Decision(NamedTuple):
    """Where a pod goes."""

    node: NodeInfo
    #: Nodes that were looked at, and those that would have done.
    evaluated: int
    feasible: int


class Profile:
    """The rules for pods of one scheduler name in their order, with the weights of their likings.

    Rules that look at the node only come first, wherever they are named: what they say is remembered.
    """

    def __init__(
        self,
        *,
        filters: Sequence[LocalPlugin],
        scorers: Sequence[tuple[LocalPlugin, int]],
        checks: Sequence[Plugin],
        likings: Sequence[tuple[Plugin, int]],
        settings: ProfileSettings,
    ) -> None:
        self.settings: Final = settings
        self.name: Final = settings.scheduler_name
        self.share: Final = settings.percentage_of_nodes_to_score
        #: Whether pods that name their nodes by affinity are looked at on these only.
        self.knows_names: Final = settings.plugins.has("preFilter", "NodeAffinity")
        self.verdicts: Final = Verdicts(filters, [plugin for plugin, _ in scorers])
        self.scoring: Final = tuple(scorers)
        self.likings: Final = tuple(likings)
        self._checks: Final = tuple(checks)

    def checks(self, pod: PodInfo, cluster: Snapshot) -> list[Check]:
        """What must be asked of each node besides the local rules. Raises ``Blocked``."""
        prepared = (plugin.check(pod, cluster) for plugin in self._checks)
        return [check for check in prepared if check is not None]

    def reject(self, pod: PodInfo, node: NodeInfo, checks: Iterable[Check]) -> Rejection | None:
        """The first objection of all, nothing remembered: for nodes as they might be."""
        return self.verdicts.filter(pod, node) or first_objection(checks, node)


def first_objection(checks: Iterable[Check], node: NodeInfo) -> Rejection | None:
    """What the first check that minds says."""
    for check in checks:
        rejection = check(node)
        if rejection is not None:
            return rejection
    return None


class Cycle:
    """Schedules one pod after another. It goes on with the nodes where the last search ended."""

    def __init__(self, cluster: Snapshot, *, dice: random.Random) -> None:
        self._cluster = cluster
        self._dice = dice
        self._start = 0
        self.nominations: Final[Nominations] = {}

    def schedule(self, pod: PodInfo, profile: Profile) -> Decision:
        """The node for a pod. Raises ``FitError``."""
        nodes = self._cluster.nodes
        if not nodes:
            raise FitError(0, {})
        try:
            checks = profile.checks(pod, self._cluster)
            candidates = self._candidates(pod) if profile.knows_names else nodes
        except Blocked as blocked:
            raise FitError(len(nodes), {}, blocked.reason, by=blocked.plugin) from None
        rejections: dict[str, Rejection] = {}
        feasible = self._nominee(pod, profile, checks) or self._search(
            pod, profile, candidates, checks=checks, rejections=rejections
        )
        if not feasible:
            if candidates is not nodes:
                named = {node.name for node in candidates}
                rejections.update((node.name, _NOT_NAMED) for node in nodes if node.name not in named)
            raise FitError(len(nodes), rejections)
        chosen = feasible[0][0] if len(feasible) == 1 else self._best(pod, profile, feasible)
        return Decision(chosen, len(feasible) + len(rejections), len(feasible))

    def _candidates(self, pod: PodInfo) -> Sequence[NodeInfo]:
        """All nodes, or those that the pod's affinity names."""
        if pod.named_nodes is None:
            return self._cluster.nodes
        if not pod.named_nodes:
            raise Blocked("NodeAffinity", "pod affinity terms conflict")
        found = (self._cluster.get(name) for name in sorted(pod.named_nodes))
        return [node for node in found if node is not None]

    def _nominee(self, pod: PodInfo, profile: Profile, checks: Sequence[Check]) -> list[tuple[NodeInfo, Verdict]]:
        """The node that preemption has promised, if it will do."""
        node = self._cluster.get(pod.nominated_node) if pod.nominated_node else None
        if node is None:
            return []
        verdict, rejection = self._judge(pod, profile, node, checks, profile.verdicts.of(pod))
        return [] if rejection is not None else [(node, verdict)]

    def _search(
        self,
        pod: PodInfo,
        profile: Profile,
        nodes: Sequence[NodeInfo],
        *,
        checks: Sequence[Check],
        rejections: dict[str, Rejection],
    ) -> list[tuple[NodeInfo, Verdict]]:
        """Nodes that will do, as many as are worth comparing; notes why others will not."""
        found: list[tuple[NodeInfo, Verdict]] = []
        # Without a liking the first is as good as any.
        enough = _enough(len(nodes), profile.share) if profile.scoring or profile.likings else 1
        start = self._start % len(nodes) if nodes else 0
        table = profile.verdicts.of(pod)
        looked_at = 0
        for node in (*nodes[start:], *nodes[:start]) if start else nodes:
            looked_at += 1
            known = table.get(node.name)  # what ``_judge`` would find, without the calls: this is the hot path
            if known is not None and known[0] == node.generation and not checks and node.name not in self.nominations:
                verdict, rejection = known, known[1]
            else:
                verdict, rejection = self._judge(pod, profile, node, checks, table)
            if rejection is not None:
                rejections[node.name] = rejection
                continue
            found.append((node, verdict))
            if len(found) >= enough:
                break
        self._start = start + looked_at
        return found

    def _judge(
        self, pod: PodInfo, profile: Profile, node: NodeInfo, checks: Sequence[Check], table: dict[str, Verdict]
    ) -> tuple[Verdict, Rejection | None]:
        verdict = profile.verdicts.judge(pod, node, table)
        rejection = verdict.rejection or (first_objection(checks, node) if checks else None)
        if rejection is None and node.name in self.nominations:
            rejection = self._with_nominated(pod, profile, node, checks)
        return verdict, rejection

    def _with_nominated(
        self, pod: PodInfo, profile: Profile, node: NodeInfo, checks: Sequence[Check]
    ) -> Rejection | None:
        """Whether it holds too when those have come that the node was promised to, and that are as important."""
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
            checks = [check.moved(other, trial, 1) for check in checks]
        return profile.reject(pod, trial, checks)

    def _best(self, pod: PodInfo, profile: Profile, feasible: Sequence[tuple[NodeInfo, Verdict]]) -> NodeInfo:
        nodes = [node for node, _ in feasible]
        totals = [0] * len(nodes)
        for column, (plugin, weight) in zip(
            zip(*(verdict.raw for _, verdict in feasible), strict=True), profile.scoring, strict=True
        ):
            totals = [total + weight * score for total, score in zip(totals, plugin.normalized(column), strict=True)]
        for other, weight in profile.likings:
            scorer = other.scorer(pod, self._cluster)
            if scorer is not None:
                scores = scorer.normalized([scorer(node) for node in nodes], nodes)
                totals = [total + weight * score for total, score in zip(totals, scores, strict=True)]
        best = max(totals)
        return self._dice.choice([node for node, total in zip(nodes, totals, strict=True) if total == best])

    # Promises

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Promise a node to a pod that made room there."""
        self.withdraw(pod.uid)
        self.nominations.setdefault(node, {})[pod.uid] = pod

    def withdraw(self, uid: str) -> None:
        """The pod is gone, has its node, or gives up its claim. Idempotent."""
        for node, pods in list(self.nominations.items()):
            if pods.pop(uid, None) is not None and not pods:
                del self.nominations[node]


def _enough(nodes: int, share: int) -> int:
    """How many of so many nodes are worth comparing."""
    if nodes < _WHOLE_CLUSTER or share >= 100:
        return nodes
    share = share or max(50 - nodes // 125, _SHARE_MIN)
    return max(nodes * share // 100, _WHOLE_CLUSTER)


__all__ = ["Cycle", "Decision", "Nominations", "Profile", "first_objection"]
