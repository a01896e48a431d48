"""A pod precomputed for scheduling. Upstream: ``PodInfo`` in pkg/scheduler/framework/types.go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from steersman.apimachinery.selectors import NOTHING, LabelSelector, requirement
from steersman.scheduler.matching import any_term, has_labels, label_selector, names_in, node_term
from steersman.workloads.host_ports import host_ports
from steersman.workloads.resources import ResourceList, pod_nonzero_requests, pod_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from steersman.scheduler.matching import NodeTest
    from steersman.scheduler.objects import Pod, PodAffinityTerm, TopologySpreadConstraint

_encode: Final = msgspec.json.Encoder().encode
#: Default of ``spec.preemptionPolicy``.
PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"
DEFAULT_SCHEDULER: Final = "default-scheduler"


class AffinityTerm(NamedTuple):
    """A pod affinity or anti-affinity term."""

    topology_key: str
    selector: LabelSelector
    #: Namespaces of the term; the pod's own if the term has none.
    namespaces: frozenset[str]
    namespace_selector: LabelSelector
    weight: int = 0

    def matches(self, pod: PodInfo, namespace_labels: Callable[[str], Mapping[str, str]]) -> bool:
        """Report whether the term selects the pod."""
        if not self.selector.matches(pod.labels):
            return False
        if pod.namespace in self.namespaces:
            return True
        chosen = self.namespace_selector
        return chosen is not NOTHING and chosen.matches(namespace_labels(pod.namespace))


class SpreadConstraint(NamedTuple):
    """An entry of ``spec.topologySpreadConstraints`` with upstream's defaults."""

    topology_key: str
    max_skew: int
    selector: LabelSelector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


class PodResourceClaim(NamedTuple):
    """An entry of ``spec.resourceClaims``, resolved to a ResourceClaim."""

    #: Name of the claim; empty if none is needed.
    claim: str
    #: True if the pod must own the claim, which was created from a template.
    must_be_owned: bool = False
    #: Why the claim cannot be resolved; empty if it can.
    fault: str = ""


class PodInfo:
    """Facts of a pod that plugins read. Immutable except for ``node_name``, which is set when the pod is assumed."""

    __slots__ = (
        "affinity",
        "anti_affinity",
        "claims",
        "created",
        "device_claims",
        "gates",
        "host_ports",
        "images",
        "is_best_effort",
        "is_terminating",
        "key",
        "labels",
        "may_preempt",
        "name",
        "named_nodes",
        "namespace",
        "node_name",
        "node_test",
        "nominated_node",
        "nonzero_requests",
        "pod",
        "preferred_affinity",
        "preferred_anti_affinity",
        "preferred_nodes",
        "priority",
        "requests",
        "required_features",
        "scheduler",
        "signature",
        "soft_spread",
        "spread",
        "started",
        "tolerations",
        "uid",
        "volume_images",
    )

    def __init__(self, pod: Pod) -> None:
        spec, metadata = pod.spec, pod.metadata
        status = pod.status
        self.pod: Final = pod
        self.name: Final[str] = metadata.name
        self.namespace: Final[str] = metadata.namespace or ""
        self.key: Final = f"{self.namespace}/{self.name}"
        self.uid: Final[str] = metadata.uid or ""
        self.labels: Final[Mapping[str, str]] = metadata.labels or {}
        self.created: Final = metadata.creationTimestamp
        self.is_terminating: Final = metadata.deletionTimestamp is not None
        self.node_name: str = spec.nodeName or ""
        self.nominated_node: Final[str] = (status.nominatedNodeName if status is not None else "") or ""
        self.started: Final = status.startTime if status is not None else None
        self.priority: Final[int] = spec.priority or 0
        self.scheduler: Final[str] = spec.schedulerName or DEFAULT_SCHEDULER
        self.may_preempt: Final = (spec.preemptionPolicy or PREEMPT_LOWER_PRIORITY) == PREEMPT_LOWER_PRIORITY
        self.gates: Final[list[str]] = [gate.name for gate in spec.schedulingGates or ()]
        self.requests: Final[ResourceList] = {name: value for name, value in pod_requests(pod).items() if value}
        self.nonzero_requests: Final[ResourceList] = pod_nonzero_requests(pod)
        self.is_best_effort: Final = not self.requests
        self.host_ports: Final = host_ports(pod.spec)
        self.images: Final = tuple(
            container.image or "" for container in [*(spec.initContainers or ()), *spec.containers]
        )
        #: Images that are mounted as volumes.
        self.volume_images: Final = tuple(
            volume.image.reference or "" for volume in spec.volumes or () if volume.image is not None
        )
        self.tolerations: Final[Sequence[Any]] = spec.tolerations or ()
        self.claims: Final = tuple(_claims(pod))
        #: ResourceClaims.
        self.device_claims: Final = tuple(
            _device_claim(pod, resource_claim) for resource_claim in spec.resourceClaims or ()
        )
        #: Node features that the pod requires (KEP-5328).
        self.required_features: Final = frozenset(_required_features(spec))
        self._read_affinity(pod)
        self._read_spread(pod)
        #: Pods with the same signature get the same results from all local plugins (KEP-5598).
        self.signature: Final[bytes] = _encode(
            [
                self.requests,
                self.nonzero_requests,
                self.host_ports,
                self.images,
                self.volume_images,
                spec.nodeSelector,
                spec.affinity.nodeAffinity if spec.affinity is not None else None,
                spec.tolerations,
                spec.nodeName,
                sorted(self.required_features),
            ]
        )

    def _read_affinity(self, pod: Pod) -> None:
        affinity = pod.spec.affinity
        nodes = affinity.nodeAffinity if affinity is not None else None
        required = nodes.requiredDuringSchedulingIgnoredDuringExecution if nodes is not None else None
        preferred = nodes.preferredDuringSchedulingIgnoredDuringExecution if nodes is not None else None
        tests: list[NodeTest] = [has_labels(pod.spec.nodeSelector)] if pod.spec.nodeSelector else []
        self.named_nodes = None if required is None else names_in(required.nodeSelectorTerms)
        if required is not None:
            tests.append(any_term(required.nodeSelectorTerms))
        #: Predicate for nodeSelector and required node affinity; None matches all nodes.
        self.node_test: NodeTest | None = _all_of(tests)
        self.preferred_nodes = tuple(
            (term.weight, node_term(term.preference)) for term in preferred or () if term.weight
        )
        near = affinity.podAffinity if affinity is not None else None
        far = affinity.podAntiAffinity if affinity is not None else None
        self.affinity = _required(near, self.namespace)
        self.anti_affinity = _required(far, self.namespace)
        self.preferred_affinity = _preferred(near, self.namespace)
        self.preferred_anti_affinity = _preferred(far, self.namespace)

    def _read_spread(self, pod: Pod) -> None:
        self.spread, self.soft_spread = spread_constraints(pod.spec.topologySpreadConstraints or (), self.labels)

    @property
    def affects_affinity_scores(self) -> bool:
        """True if the pod's terms affect the InterPodAffinity scores of incoming pods."""
        return bool(self.affinity or self.preferred_affinity or self.preferred_anti_affinity)

    @property
    def has_affinity(self) -> bool:
        """True if the pod has any pod affinity or anti-affinity terms."""
        return bool(self.affinity or self.anti_affinity or self.preferred_affinity or self.preferred_anti_affinity)


def _all_of(tests: list[NodeTest]) -> NodeTest | None:
    if len(tests) < 2:
        return tests[0] if tests else None
    first, second = tests
    return lambda node: first(node) and second(node)


def _required_features(spec: Any) -> Iterator[str]:
    """Yield the node features required by a spec. Upstream: ``nodedeclaredfeatures`` inference."""
    for container in (*spec.containers, *(spec.initContainers or ())):
        if any(rule.action == "RestartAllContainers" for rule in container.restartPolicyRules or ()):
            yield "RestartAllContainersOnContainerExits"
    if spec.hostNetwork and spec.hostUsers is False:
        yield "UserNamespacesHostNetworkSupport"


def _claims(pod: Pod) -> list[str]:
    """Return the names of the pod's PersistentVolumeClaims, including those of generic ephemeral volumes."""
    claims = []
    for volume in pod.spec.volumes or ():
        if volume.persistentVolumeClaim is not None:
            claims.append(volume.persistentVolumeClaim.claimName)
        elif volume.ephemeral is not None:
            claims.append(f"{pod.metadata.name}-{volume.name}")
    return claims


def _device_claim(pod: Pod, entry: Any) -> PodResourceClaim:
    """Resolve an entry of ``spec.resourceClaims``, by name or by the claim generated from a template."""
    if entry.resourceClaimName:
        return PodResourceClaim(entry.resourceClaimName)
    key = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if not entry.resourceClaimTemplateName:
        return PodResourceClaim(
            "", fault=f'pod "{key}", spec.resourceClaim "{entry.name}": none of the supported fields are set'
        )
    for status in (pod.status.resourceClaimStatuses if pod.status is not None else None) or ():
        if status.name == entry.name:
            return PodResourceClaim(status.resourceClaimName or "", must_be_owned=True)
    return PodResourceClaim("", fault=f'pod "{key}": ResourceClaim not created yet')


def _term(term: PodAffinityTerm, namespace: str, weight: int = 0) -> AffinityTerm:
    named = frozenset(term.namespaces or ())
    chosen = term.namespaceSelector
    if not named and chosen is None:
        named = frozenset({namespace})
    selector = NOTHING if chosen is None else label_selector(chosen)
    return AffinityTerm(term.topologyKey, label_selector(term.labelSelector), named, selector, weight)


def _required(affinity: Any, namespace: str) -> tuple[AffinityTerm, ...]:
    terms = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity is not None else None
    return tuple(_term(term, namespace) for term in terms or ())


def _preferred(affinity: Any, namespace: str) -> tuple[AffinityTerm, ...]:
    terms = affinity.preferredDuringSchedulingIgnoredDuringExecution if affinity is not None else None
    return tuple(_term(term.podAffinityTerm, namespace, term.weight) for term in terms or ())


def _spread(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> SpreadConstraint:
    selector = label_selector(constraint.labelSelector)
    # API servers since 1.34 merge them into the selector (KEP-3243); older ones leave it to the scheduler.
    same = [requirement(key, "in", [labels[key]]) for key in constraint.matchLabelKeys or () if key in labels]
    if same and selector is not NOTHING:
        selector = LabelSelector(dict.fromkeys([*selector.requirements, *same]))
    return SpreadConstraint(
        constraint.topologyKey,
        constraint.maxSkew,
        selector,
        constraint.minDomains or 1,
        (constraint.nodeAffinityPolicy or "Honor") == "Honor",
        (constraint.nodeTaintsPolicy or "Ignore") == "Honor",
    )


def spread_constraints(
    constraints: Iterable[TopologySpreadConstraint], labels: Mapping[str, str]
) -> tuple[tuple[SpreadConstraint, ...], tuple[SpreadConstraint, ...]]:
    """Return the ``DoNotSchedule`` and the ``ScheduleAnyway`` constraints for a pod with these labels."""
    spreads = [
        (constraint.whenUnsatisfiable == "DoNotSchedule", _spread(constraint, labels)) for constraint in constraints
    ]
    return tuple(spread for is_hard, spread in spreads if is_hard), tuple(
        spread for is_hard, spread in spreads if not is_hard
    )
