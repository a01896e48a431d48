"""InterPodAffinity: pod affinity and anti-affinity by topology domain."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.scheduler.framework import SCORE_MAX, Plugin, PodFilter, PodScorer, Rejection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import AffinityTerm, PodInfo
    from steersman.scheduler.snapshot import Snapshot

_NAME: Final = "InterPodAffinity"
_AFFINITY: Final = Rejection(_NAME, ("node(s) didn't match pod affinity rules",), resolvable=False)
_ANTI_AFFINITY: Final = Rejection(_NAME, ("node(s) didn't match pod anti-affinity rules",))
_EXISTING_ANTI_AFFINITY: Final = Rejection(_NAME, ("node(s) didn't satisfy existing pods anti-affinity rules",))

#: Number of pods, or weight, by topology key and value.
Domains = dict[str, dict[str, int]]


class InterPodAffinity(Plugin):
    """Filters by required terms and scores by preferred terms, of the incoming and of existing pods."""

    name: ClassVar[str] = _NAME

    def __init__(self, args: Mapping[str, Any]) -> None:
        """``args``: ``InterPodAffinityArgs``."""
        #: Weight of existing pods' required affinity terms.
        self._hard_weight: Final[int] = args["hardPodAffinityWeight"]
        self._ignores_existing_preferred: Final[bool] = args["ignorePreferredTermsOfExistingPods"]

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> PodFilter | None:
        if not pod.affinity and not pod.anti_affinity and not cluster.required_anti_affinity:
            return None
        tally = _State(pod, cluster)
        for term, nodes in cluster.required_anti_affinity.items():
            if term.matches(pod, cluster.namespace_labels):
                tally.add(tally.existing_anti_affinity, term, nodes)
        if pod.affinity:
            for node in cluster.infos.values():
                for other in node.pods.values():
                    tally.count_affinity(other, node, 1)
        for term in pod.anti_affinity:
            tally.add(tally.anti_affinity, term, cluster.matching(term))
        return _RequiredFilter(tally) if pod.affinity or pod.anti_affinity or tally.existing_anti_affinity else None

    def pre_score(self, pod: PodInfo, cluster: Snapshot) -> PodScorer | None:
        weights: Domains = {}
        has_preferences = bool(pod.preferred_affinity or pod.preferred_anti_affinity)
        if self._ignores_existing_preferred and not has_preferences:
            return None
        nodes = cluster.infos if has_preferences else cluster.with_affinity
        for node in nodes.values():
            if node.node is None:
                continue
            others = node.pods if has_preferences else node.with_affinity
            for other in others.values():
                self._weigh(weights, pod, other, node, cluster)
        return _PreferredScorer(weights) if weights else None

    def _weigh(self, weights: Domains, pod: PodInfo, other: PodInfo, node: NodeInfo, cluster: Snapshot) -> None:
        """Add the terms between the incoming pod and an existing one to the weights of the node's domains."""
        labels_of = cluster.namespace_labels

        def add(terms: Iterable[AffinityTerm], affinity_pod: PodInfo, sign: int, weight: int | None = None) -> None:
            for term in terms:
                value = node.labels.get(term.topology_key)
                if value is not None and term.matches(affinity_pod, labels_of):
                    values = weights.setdefault(term.topology_key, {})
                    values[value] = values.get(value, 0) + sign * (term.weight if weight is None else weight)

        add(pod.preferred_affinity, other, 1)
        add(pod.preferred_anti_affinity, other, -1)
        add(other.affinity, pod, 1, self._hard_weight)
        add(other.preferred_affinity, pod, 1)
        add(other.preferred_anti_affinity, pod, -1)


class _State:
    """PreFilter state: matching pods by topology domain."""

    def __init__(self, pod: PodInfo, cluster: Snapshot) -> None:
        self.pod = pod
        self.labels_of = cluster.namespace_labels
        self._infos = cluster.infos
        #: Existing anti-affinity terms that match the incoming pod.
        self.existing_anti_affinity: Domains = {}
        #: Existing pods that match the incoming pod's affinity and anti-affinity.
        self.affinity: Domains = {}
        self.anti_affinity: Domains = {}

    def copy(self) -> _State:
        """Return a copy for simulations."""
        twin = copy(self)
        twin.existing_anti_affinity, twin.affinity, twin.anti_affinity = (
            _copied(self.existing_anti_affinity),
            _copied(self.affinity),
            _copied(self.anti_affinity),
        )
        return twin

    def add(self, domains: Domains, term: AffinityTerm, nodes: Mapping[str, int]) -> None:
        """Add the pod counts of nodes to their domains."""
        infos = self._infos
        values = domains.setdefault(term.topology_key, {})
        for name, count in nodes.items():
            value = infos[name].labels.get(term.topology_key)
            if value is not None:
                values[value] = values.get(value, 0) + count

    def count_existing_anti_affinity(self, other: PodInfo, node: NodeInfo, sign: int) -> None:
        """Count an added or removed pod by its anti-affinity terms."""
        for term in other.anti_affinity:
            if term.matches(self.pod, self.labels_of):
                _tally(self.existing_anti_affinity, term, node, sign)

    def count_affinity(self, other: PodInfo, node: NodeInfo, sign: int) -> None:
        """Count an added or removed pod that matches all of the incoming pod's affinity terms."""
        pod, labels_of = self.pod, self.labels_of
        if pod.affinity and all(term.matches(other, labels_of) for term in pod.affinity):
            for term in pod.affinity:
                _tally(self.affinity, term, node, sign)

    def count_anti_affinity(self, other: PodInfo, node: NodeInfo, sign: int) -> None:
        """Count an added or removed pod that matches the incoming pod's anti-affinity terms."""
        for term in self.pod.anti_affinity:
            if term.matches(other, self.labels_of):
                _tally(self.anti_affinity, term, node, sign)


def _tally(domains: Domains, term: AffinityTerm, node: NodeInfo, sign: int) -> None:
    value = node.labels.get(term.topology_key)
    if value is not None:
        values = domains.setdefault(term.topology_key, {})
        values[value] = values.get(value, 0) + sign


def _copied(domains: Domains) -> Domains:
    return {key: dict(values) for key, values in domains.items()}


def _count(domains: Domains, key: str, value: str) -> int:
    values = domains.get(key)
    return values.get(value, 0) if values is not None else 0


class _RequiredFilter(PodFilter):
    def __init__(self, tally: _State) -> None:
        self._tally = tally
        self._pod = tally.pod

    def __call__(self, node: NodeInfo) -> Rejection | None:
        labels = node.labels
        if not self._satisfies_affinity(node):
            return _AFFINITY
        for term in self._pod.anti_affinity:
            value = labels.get(term.topology_key)
            if value is not None and _count(self._tally.anti_affinity, term.topology_key, value) > 0:
                return _ANTI_AFFINITY
        for key, values in self._tally.existing_anti_affinity.items():
            value = labels.get(key)
            if value is not None and values.get(value, 0) > 0:
                return _EXISTING_ANTI_AFFINITY
        return None

    def _satisfies_affinity(self, node: NodeInfo) -> bool:
        has_match = True
        for term in self._pod.affinity:
            value = node.labels.get(term.topology_key)
            if value is None:
                return False
            if _count(self._tally.affinity, term.topology_key, value) <= 0:
                has_match = False
        # The first pod of a group with affinity to itself may go to any node.
        return has_match or (
            not any(count > 0 for values in self._tally.affinity.values() for count in values.values())
            and all(term.matches(self._pod, self._tally.labels_of) for term in self._pod.affinity)
        )

    def with_pod(self, pod: PodInfo, node: NodeInfo, sign: int) -> PodFilter:
        tally = self._tally.copy()
        tally.count_existing_anti_affinity(pod, node, sign)
        tally.count_affinity(pod, node, sign)
        tally.count_anti_affinity(pod, node, sign)
        return _RequiredFilter(tally)


class _PreferredScorer(PodScorer):
    def __init__(self, weights: Domains) -> None:
        self._weights = weights

    def __call__(self, node: NodeInfo) -> int:
        labels = node.labels
        return sum(values.get(labels.get(key, ""), 0) for key, values in self._weights.items() if key in labels)

    def normalize_scores(self, raw: Sequence[float], nodes: Sequence[NodeInfo]) -> list[int]:
        lowest = min(raw, default=0)
        span = max(raw, default=0) - lowest
        return [int(SCORE_MAX * (value - lowest) / span) if span else 0 for value in raw]
