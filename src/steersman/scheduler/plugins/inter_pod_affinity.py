"""Pods near pods, and far from pods, by the topology of their nodes (zones, hosts)."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.scheduler.framework import SCORE_MAX, Check, Plugin, Rejection, Scorer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import AffinityTerm, PodInfo
    from steersman.scheduler.snapshot import Snapshot

_NAME: Final = "InterPodAffinity"
_AFFINITY: Final = Rejection(_NAME, ("node(s) didn't match pod affinity rules",), resolvable=False)
_ANTI_AFFINITY: Final = Rejection(_NAME, ("node(s) didn't match pod anti-affinity rules",))
_OTHERS: Final = Rejection(_NAME, ("node(s) didn't satisfy existing pods anti-affinity rules",))

#: By topology key and value, how many pods count there.
Domains = dict[str, dict[str, int]]


class InterPodAffinity(Plugin):
    """Required terms keep pods away, preferred ones are weighed; those of pods that run count as well."""

    name: ClassVar[str] = _NAME

    def __init__(self, args: Mapping[str, Any]) -> None:
        """``args``: ``InterPodAffinityArgs``."""
        #: What a required affinity of a pod that runs is worth to a pod it would like near.
        self._hard_weight: Final[int] = args["hardPodAffinityWeight"]
        self._only_own: Final[bool] = args["ignorePreferredTermsOfExistingPods"]

    def check(self, pod: PodInfo, cluster: Snapshot) -> Check | None:
        if not pod.affinity and not pod.anti_affinity and not cluster.repelling:
            return None
        tally = _Tally(pod, cluster)
        for term, nodes in cluster.repelling.items():
            if term.matches(pod, cluster.namespace_labels):
                tally.add(tally.repelled, term, nodes)
        if pod.affinity:
            for node in cluster.infos.values():
                for other in node.pods.values():
                    tally.count_near(other, node, 1)
        for term in pod.anti_affinity:
            tally.add(tally.far, term, cluster.matching(term))
        return _Required(tally) if pod.affinity or pod.anti_affinity or tally.repelled else None

    def scorer(self, pod: PodInfo, cluster: Snapshot) -> Scorer | None:
        liked: Domains = {}
        wishes = bool(pod.preferred_affinity or pod.preferred_anti_affinity)
        if self._only_own and not wishes:
            return None
        nodes = cluster.infos if wishes else cluster.with_affinity
        for node in nodes.values():
            if node.node is None:
                continue
            others = node.pods if wishes else node.with_affinity
            for other in others.values():
                self._weigh(liked, pod, other, node, cluster)
        return _Preferred(liked) if liked else None

    def _weigh(self, liked: Domains, pod: PodInfo, other: PodInfo, node: NodeInfo, cluster: Snapshot) -> None:
        """What one pod that runs adds to, or takes from, the liking of the domains of its node."""
        labels_of = cluster.namespace_labels

        def add(terms: Iterable[AffinityTerm], wanted: PodInfo, sign: int, weight: int | None = None) -> None:
            for term in terms:
                value = node.labels.get(term.topology_key)
                if value is not None and term.matches(wanted, labels_of):
                    values = liked.setdefault(term.topology_key, {})
                    values[value] = values.get(value, 0) + sign * (term.weight if weight is None else weight)

        add(pod.preferred_affinity, other, 1)
        add(pod.preferred_anti_affinity, other, -1)
        add(other.affinity, pod, 1, self._hard_weight)
        add(other.preferred_affinity, pod, 1)
        add(other.preferred_anti_affinity, pod, -1)


class _Tally:
    """What pods that run mean for one pod, domain by domain."""

    def __init__(self, pod: PodInfo, cluster: Snapshot) -> None:
        self.pod = pod
        self.labels_of = cluster.namespace_labels
        self._infos = cluster.infos
        #: Where pods want no pod like this one.
        self.repelled: Domains = {}
        #: Where there are pods that this one wants near, or far.
        self.near: Domains = {}
        self.far: Domains = {}

    def copy(self) -> _Tally:
        """One to try changes on."""
        twin = copy(self)
        twin.repelled, twin.near, twin.far = _copied(self.repelled), _copied(self.near), _copied(self.far)
        return twin

    def add(self, domains: Domains, term: AffinityTerm, nodes: Mapping[str, int]) -> None:
        """Count so many pods on these nodes."""
        infos = self._infos
        values = domains.setdefault(term.topology_key, {})
        for name, count in nodes.items():
            value = infos[name].labels.get(term.topology_key)
            if value is not None:
                values[value] = values.get(value, 0) + count

    def count_repelling(self, other: PodInfo, node: NodeInfo, sign: int) -> None:
        """A pod that has anti-affinity came, or left."""
        for term in other.anti_affinity:
            if term.matches(self.pod, self.labels_of):
                _tally(self.repelled, term, node, sign)

    def count_near(self, other: PodInfo, node: NodeInfo, sign: int) -> None:
        """A pod came, or left. It counts as near only when it is all that is wanted."""
        pod, labels_of = self.pod, self.labels_of
        if pod.affinity and all(term.matches(other, labels_of) for term in pod.affinity):
            for term in pod.affinity:
                _tally(self.near, term, node, sign)

    def count_far(self, other: PodInfo, node: NodeInfo, sign: int) -> None:
        """A pod came, or left, that may be one to stay away from."""
        for term in self.pod.anti_affinity:
            if term.matches(other, self.labels_of):
                _tally(self.far, term, node, sign)


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


class _Required(Check):
    def __init__(self, tally: _Tally) -> None:
        self._tally = tally
        self._pod = tally.pod

    def __call__(self, node: NodeInfo) -> Rejection | None:
        labels = node.labels
        if not self._finds_company(node):
            return _AFFINITY
        for term in self._pod.anti_affinity:
            value = labels.get(term.topology_key)
            if value is not None and _count(self._tally.far, term.topology_key, value) > 0:
                return _ANTI_AFFINITY
        for key, values in self._tally.repelled.items():
            value = labels.get(key)
            if value is not None and values.get(value, 0) > 0:
                return _OTHERS
        return None

    def _finds_company(self, node: NodeInfo) -> bool:
        company = True
        for term in self._pod.affinity:
            value = node.labels.get(term.topology_key)
            if value is None:
                return False
            if _count(self._tally.near, term.topology_key, value) <= 0:
                company = False
        # The first of a group that wants to be together may go anywhere.
        return company or (
            not any(count > 0 for values in self._tally.near.values() for count in values.values())
            and all(term.matches(self._pod, self._tally.labels_of) for term in self._pod.affinity)
        )

    def moved(self, pod: PodInfo, node: NodeInfo, sign: int) -> Check:
        tally = self._tally.copy()
        tally.count_repelling(pod, node, sign)
        tally.count_near(pod, node, sign)
        tally.count_far(pod, node, sign)
        return _Required(tally)


class _Preferred(Scorer):
    def __init__(self, liked: Domains) -> None:
        self._liked = liked

    def __call__(self, node: NodeInfo) -> int:
        labels = node.labels
        return sum(values.get(labels.get(key, ""), 0) for key, values in self._liked.items() if key in labels)

    def normalized(self, raw: Sequence[float], nodes: Sequence[NodeInfo]) -> list[int]:
        lowest = min(raw, default=0)
        span = max(raw, default=0) - lowest
        return [int(SCORE_MAX * (value - lowest) / span) if span else 0 for value in raw]
