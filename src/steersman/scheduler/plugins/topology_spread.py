"""PodTopologySpread: even distribution of pods over topology domains (KEP-895)."""

from __future__ import annotations

from math import floor, log
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
from lightkube.models.core_v1 import TopologySpreadConstraint

from steersman.scheduler.framework import SCORE_MAX, Plugin, PodFilter, PodScorer, Rejection
from steersman.scheduler.pod_info import spread_constraints
from steersman.workloads.node_matching import untolerated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo, SpreadConstraint
    from steersman.scheduler.snapshot import Snapshot
    from steersman.scheduler.workloads import Workloads

_NAME: Final = "PodTopologySpread"
_TEXT: Final = "node(s) didn't match pod topology spread constraints"
_SKEWED: Final = Rejection(_NAME, (_TEXT,))
_UNLABELLED: Final = Rejection(_NAME, (f"{_TEXT} (missing required label)",), resolvable=False)
HOSTNAME: Final = "kubernetes.io/hostname"
#: Default constraints of ``defaultingType: System``.
_SYSTEM: Final = (
    {"topologyKey": HOSTNAME, "maxSkew": 3, "whenUnsatisfiable": "ScheduleAnyway"},
    {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 5, "whenUnsatisfiable": "ScheduleAnyway"},
)


class PodTopologySpread(Plugin):
    """Filters by ``DoNotSchedule`` constraints; scores by ``ScheduleAnyway`` constraints."""

    name: ClassVar[str] = _NAME

    def __init__(self, workloads: Workloads, args: Mapping[str, Any]) -> None:
        """``args``: ``PodTopologySpreadArgs`` with defaults."""
        self._workloads = workloads
        self._uses_system_defaults: Final = args["defaultingType"] == "System"
        constraints = _SYSTEM if self._uses_system_defaults else args.get("defaultConstraints") or ()
        self._hard, self._soft = spread_constraints(msgspec.convert(constraints, list[TopologySpreadConstraint]), {})

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> PodFilter | None:
        constraints = pod.spread
        if self._hard and not constraints and not pod.soft_spread:
            constraints = self._defaults(pod, self._hard)
        if not constraints:
            return None
        keys = [constraint.topology_key for constraint in constraints]
        return _HardFilter(pod, constraints, [_domains(constraint, pod, cluster, keys) for constraint in constraints])

    def pre_score(self, pod: PodInfo, cluster: Snapshot) -> PodScorer | None:
        constraints, strict = pod.soft_spread, True
        if not pod.spread and not constraints:
            constraints, strict = self._defaults(pod, self._soft), not self._uses_system_defaults
        return _SoftScorer(pod, constraints, cluster, strict=strict) if constraints else None

    def _defaults(self, pod: PodInfo, constraints: Sequence[SpreadConstraint]) -> tuple[SpreadConstraint, ...]:
        """Return default constraints for a pod; empty if it belongs to no workload."""
        selector = self._workloads.selector_of(pod) if constraints else None
        return () if selector is None else tuple(constraint._replace(selector=selector) for constraint in constraints)


def _is_eligible(node: NodeInfo, pod: PodInfo, constraint: SpreadConstraint) -> bool:
    """Report whether the constraint counts the node's pods (inclusion policies, KEP-3094)."""
    if constraint.honors_affinity and pod.node_test is not None and not pod.node_test(node):
        return False
    return not (constraint.honors_taints and untolerated(node.taints, pod.tolerations) is not None)


def _domains(constraint: SpreadConstraint, pod: PodInfo, cluster: Snapshot, keys: Sequence[str]) -> dict[str, int]:
    """Return the number of matching pods by domain, on eligible nodes that have all the ``keys``."""
    counts = cluster.counts(pod.namespace, constraint.selector)
    key = constraint.topology_key
    if pod.node_test is None and not constraint.honors_taints and len(keys) <= 1:
        return _domain_sums(key, counts, cluster)
    count_by_domain: dict[str, int] = {}
    for node in cluster.nodes:
        labels = node.labels
        value = labels.get(key)
        if value is None or any(key not in labels for key in keys) or not _is_eligible(node, pod, constraint):
            continue
        count_by_domain[value] = count_by_domain.get(value, 0) + counts.get(node.name, 0)
    return count_by_domain


def _domain_sums(key: str, counts: Mapping[str, int], cluster: Snapshot) -> dict[str, int]:
    """Return counts by domain where every node is eligible; visits only nodes with matching pods."""
    count_by_domain = dict.fromkeys(cluster.domains(key), 0)
    infos = cluster.infos
    for name, count in counts.items():
        info = infos[name]
        value = info.labels.get(key)
        if value is not None and info.node is not None:
            count_by_domain[value] += count
    return count_by_domain


class _HardFilter(PodFilter):
    def __init__(
        self, pod: PodInfo, constraints: Sequence[SpreadConstraint], domains: Sequence[dict[str, int]]
    ) -> None:
        self._pod = pod
        self._constraints = constraints
        self._domains = domains
        self._minimum = [
            min(counts.values(), default=0) if len(counts) >= constraint.min_domains else 0
            for constraint, counts in zip(constraints, domains, strict=True)
        ]
        self._self_match = [int(constraint.selector.matches(pod.labels)) for constraint in constraints]

    def __call__(self, node: NodeInfo) -> Rejection | None:
        labels = node.labels
        for constraint, counts, minimum, self_match in zip(
            self._constraints, self._domains, self._minimum, self._self_match, strict=True
        ):
            value = labels.get(constraint.topology_key)
            if value is None:
                return _UNLABELLED
            if counts.get(value, 0) + self_match - minimum > constraint.max_skew:
                return _SKEWED
        return None

    def with_pod(self, pod: PodInfo, node: NodeInfo, sign: int) -> PodFilter:
        if pod.namespace != self._pod.namespace:
            return self
        domains = []
        for constraint, counts in zip(self._constraints, self._domains, strict=True):
            value = node.labels.get(constraint.topology_key)
            if (
                value in counts
                and constraint.selector.matches(pod.labels)
                and _is_eligible(node, self._pod, constraint)
            ):
                counts = {**counts, value: counts[value] + sign}
            domains.append(counts)
        return _HardFilter(self._pod, self._constraints, domains)


class _SoftScorer(PodScorer):
    def __init__(
        self, pod: PodInfo, constraints: Sequence[SpreadConstraint], cluster: Snapshot, *, strict: bool
    ) -> None:
        self._pod = pod
        self._constraints = constraints
        self._cluster = cluster
        #: Constraints of the pod require all topology labels; system defaults do not.
        self._strict = strict
        self._counts = [
            cluster.counts(pod.namespace, constraint.selector)
            if constraint.topology_key == HOSTNAME
            else _domains(constraint, pod, cluster, [c.topology_key for c in constraints] if strict else ())
            for constraint in constraints
        ]

    def __call__(self, node: NodeInfo) -> float:
        return 0.0  # ``normalize_scores`` computes the scores: weights depend on the set of feasible nodes

    def _is_ignored(self, node: NodeInfo) -> bool:
        return self._strict and any(constraint.topology_key not in node.labels for constraint in self._constraints)

    def normalize_scores(self, raw: Sequence[float], nodes: Sequence[NodeInfo]) -> list[int]:
        counted = [node for node in nodes if not self._is_ignored(node)] if self._strict else nodes
        totals = [0.0] * len(counted)
        for constraint, counts in zip(self._constraints, self._counts, strict=True):
            part = _raw_scores(constraint, counts, counted)
            totals = [total + value for total, value in zip(totals, part, strict=True)]
        raws = [floor(total + 0.5) for total in totals]
        highest, lowest = max(raws, default=0), min(raws, default=0)
        top = highest + lowest
        scores = [SCORE_MAX * (top - value) // highest if highest else SCORE_MAX for value in raws]
        if counted is nodes:
            return scores
        by_name = {node.name: score for node, score in zip(counted, scores, strict=True)}
        return [by_name.get(node.name, 0) for node in nodes]


def _raw_scores(constraint: SpreadConstraint, counts: Mapping[str, int], nodes: Sequence[NodeInfo]) -> list[float]:
    """Return one constraint's raw score per node: it grows with matching pods and with the number of domains."""
    key, allowance = constraint.topology_key, constraint.max_skew - 1
    values = [node.labels.get(key) for node in nodes]
    size = len(nodes) if key == HOSTNAME else len(set(values) - {None})
    weight = log(size + 2)
    get = counts.get
    if key == HOSTNAME:
        return [
            0.0 if value is None else get(node.name, 0) * weight + allowance
            for node, value in zip(nodes, values, strict=True)
        ]
    return [0.0 if value is None else get(value, 0) * weight + allowance for value in values]
