"""DynamicResources: a pod's ResourceClaims must be allocated or allocatable on the node (KEP-4381)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from steersman.apimachinery.durations import parse_duration
from steersman.scheduler.devices.allocator import Allocator
from steersman.scheduler.devices.catalog import allocation_of, consumers_of, is_reserved_for
from steersman.scheduler.devices.extended import extended_claim_for
from steersman.scheduler.devices.readiness import BindingFailedError, is_overdue, is_ready
from steersman.scheduler.devices.requests import AllocationError, device_requests
from steersman.scheduler.devices.results import allocation
from steersman.scheduler.framework import (
    Plugin,
    PluginError,
    PodFilter,
    PodScorer,
    PreFilterRejection,
    Rejection,
    default_normalize_score,
)
from steersman.scheduler.matching import any_term

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from steersman.scheduler.devices.allocator import Choice
    from steersman.scheduler.devices.catalog import DeviceCatalog
    from steersman.scheduler.devices.extended import ExtendedResourceClaim
    from steersman.scheduler.matching import NodeTest
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

_NAME: Final = "DynamicResources"
_CANNOT_ALLOCATE: Final = Rejection(_NAME, ("cannot allocate all claims",), resolvable=False)
_NOT_ON_NODE: Final = Rejection(_NAME, ("resourceclaim not available on the node",), resolvable=False)
_LEFT_OVER_CLAIM: Final = Rejection(_NAME, ("cannot schedule extended resource claim",), resolvable=False)
#: ``ResourceClaimReservedForMaxSize``.
_CONSUMERS_MAX: Final = 256
#: ``FirstAvailableDeviceRequestMaxSize``: the score of a first choice.
_ALTERNATIVES_MAX: Final = 8

NO_CLAIMS: Final = "no new claims to deallocate"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"
STILL_NOT: Final = "still not schedulable"


class Reservation(NamedTuple):
    """Claims to write before a pod is bound."""

    #: Claims to allocate, with their allocation.
    allocate: tuple[tuple[Any, Any], ...] = ()
    #: Allocated claims to reserve for the pod.
    reserve: tuple[Any, ...] = ()
    #: The extended resource claim to create, with its allocation.
    extended: tuple[ExtendedResourceClaim, Any] | None = None


class PostFilterResult(NamedTuple):
    """Result of PostFilter: a claim to deallocate or to delete so that the pod may become schedulable."""

    message: str
    deallocate: Any = None
    delete: Any = None


class DynamicResources(Plugin):
    """Allocated claims restrict the pod to their nodes; other claims are allocated on the selected node."""

    name: ClassVar[str] = _NAME

    def __init__(
        self, catalog: DeviceCatalog, args: Mapping[str, Any], *, dice: random.Random, now: Callable[[], datetime]
    ) -> None:
        """``args``: ``DynamicResourcesArgs`` with defaults; ``dice`` generates share IDs."""
        #: Timeout for device binding conditions.
        self.binding_timeout_seconds: Final = parse_duration(args["bindingTimeout"])
        self._catalog = catalog
        self._dice = dice
        self._now = now

    @property
    def extended_resources(self) -> Mapping[str, str]:
        """DeviceClass by extended resource name; a live view of the catalog."""
        return self._catalog.resources

    def pre_enqueue(self, pod: PodInfo) -> str:
        """Return why the pod's claims are not usable yet, empty if they are (``PreEnqueue``)."""
        try:
            self._claims(pod)
        except PreFilterRejection as blocked:
            return blocked.reason
        return ""

    def pre_filter(self, pod: PodInfo, cluster: Snapshot) -> _ClaimsFilter | None:
        resources = self._resources(pod)
        if not pod.device_claims and not resources:
            return None
        claims = self._claims(pod)
        unallocated = []
        for claim in claims:
            if allocation_of(claim) is not None:
                if len(consumers_of(claim)) >= _CONSUMERS_MAX and not is_reserved_for(claim, pod.uid):
                    raise PreFilterRejection(_NAME, "resourceclaim in use")
                continue
            if self._catalog.is_pending(claim):
                key = f"{claim.metadata.namespace}/{claim.metadata.name}"
                raise PreFilterRejection(_NAME, f"resource claim {key} is in the process of being allocated")
            self._require_classes(claim)
            unallocated.append(claim)
        failed_binding = [claim for claim in claims if self._has_failed_binding(claim)]
        return _ClaimsFilter(
            self._catalog,
            pod,
            claims=claims,
            unallocated=unallocated,
            failed_binding=failed_binding,
            resources=resources,
        )

    def _resources(self, pod: PodInfo) -> frozenset[str]:
        """Return the requested extended resources that a DeviceClass provides."""
        from_devices = self._catalog.resources
        return frozenset(name for name in pod.requests if name in from_devices) if from_devices else frozenset()

    def _has_failed_binding(self, claim: Any) -> bool:
        """Report whether device binding failed or timed out."""
        try:
            ready = is_ready(claim)
        except BindingFailedError:
            return True
        return not ready and is_overdue(claim, now=self._now(), timeout_seconds=self.binding_timeout_seconds)

    def _claims(self, pod: PodInfo) -> list[Any]:
        """Return the pod's claims. Raises ``PreFilterRejection`` if one is unusable."""
        pairs = []
        for use in pod.device_claims:
            if use.fault:
                raise PreFilterRejection(_NAME, use.fault)
            if not use.claim:
                continue  # the pod's status records that no claim is needed
            claim = self._catalog.claims.get(f"{pod.namespace}/{use.claim}")
            if claim is None:
                raise PreFilterRejection(_NAME, f'resourceclaim.resource.k8s.io "{use.claim}" not found')
            if claim.metadata.deletionTimestamp is not None:
                raise PreFilterRejection(_NAME, f'resourceclaim "{use.claim}" is being deleted')
            owners = claim.metadata.ownerReferences or ()
            if use.must_be_owned and not any(owner.controller and owner.uid == pod.uid for owner in owners):
                raise PreFilterRejection(
                    _NAME,
                    f"ResourceClaim {pod.namespace}/{use.claim} was not created for pod {pod.key} (pod is not owner)",
                )
            pairs.append(claim)
        return pairs

    def _require_classes(self, claim: Any) -> None:
        for alternatives in device_requests(claim):
            for request in alternatives:
                if not request.class_name:
                    raise PreFilterRejection(_NAME, f"request {request.name}: unsupported request type")
                if request.class_name not in self._catalog.classes:
                    raise PreFilterRejection(
                        _NAME, f"request {request.name}: device class {request.class_name} does not exist"
                    )

    def pre_score(self, pod: PodInfo, cluster: Snapshot) -> PodScorer | None:
        state = self.pre_filter(pod, cluster) if pod.device_claims else None
        return _AlternativesScorer(state) if state is not None and state.has_alternatives else None

    def reservation(self, pod: PodInfo, cluster: Snapshot, node: NodeInfo) -> Reservation:
        """Return the claims to write for the selected node and hold their devices (``Reserve``)."""
        state = self.pre_filter(pod, cluster)
        if state is None:
            return Reservation()
        extended = state.extended(node)
        reserved_claims = [*state.unallocated, *([extended.claim] if extended is not None else [])]
        allocate = []
        for claim, choices in zip(reserved_claims, state.choices(node) or (), strict=True):
            allocation_ = allocation(claim, choices, node.name, self._catalog.classes, dice=self._dice)
            self._catalog.add_pending(claim, allocation_)
            allocate.append((claim, allocation_))
        special = (extended, allocate.pop()[1]) if extended is not None else None
        has = [
            claim for claim in state.claims if claim not in state.unallocated and not is_reserved_for(claim, pod.uid)
        ]
        return Reservation(tuple(allocate), tuple(has), special)

    def post_filter(self, pod: PodInfo, cluster: Snapshot) -> PostFilterResult:
        """Return a claim whose release may make the pod schedulable (``PostFilter``).

        An unused claim whose devices are unreachable or failed is deallocated; a left-over extended resource claim is
        deleted.
        """
        left_over = self._catalog.created_claims.get(pod.uid)
        if not pod.device_claims and not self._resources(pod):
            return PostFilterResult(NO_CLAIMS)
        try:
            claims = self._claims(pod)
        except PreFilterRejection:
            return PostFilterResult(STILL_NOT)
        if not claims and not self._resources(pod):
            return PostFilterResult(NO_CLAIMS)
        for claim in claims:
            test = _claim_node_test(claim)
            if (test is None or all(test(node) for node in cluster.nodes)) and not self._has_failed_binding(claim):
                continue
            if not any(consumer.uid != pod.uid for consumer in consumers_of(claim)):
                return PostFilterResult(DEALLOCATED, deallocate=claim)
        if left_over is not None:
            return PostFilterResult(DELETED, delete=left_over)
        return PostFilterResult(STILL_NOT)


class _ClaimsFilter(PodFilter):
    def __init__(
        self,
        catalog: DeviceCatalog,
        pod: PodInfo,
        *,
        claims: Sequence[Any],
        unallocated: Sequence[Any],
        failed_binding: Sequence[Any],
        resources: frozenset[str],
    ) -> None:
        """``resources``: requested extended resources that a DeviceClass provides."""
        self.claims = claims
        #: Claims without an allocation.
        self.unallocated = unallocated
        self._failed_binding = failed_binding
        self._pod = pod
        self._catalog = catalog
        self._resources = resources
        self._has_left_over_claim = bool(resources) and pod.uid in catalog.created_claims
        self._tests = [test for claim in claims if (test := _claim_node_test(claim)) is not None]
        #: Keyed by the extended resources that devices provide on a node.
        self._allocators: dict[frozenset[str], Allocator | None] = {}
        self._extended: dict[frozenset[str], ExtendedResourceClaim | None] = {frozenset(): None}

    def __call__(self, node: NodeInfo) -> Rejection | None:
        if self._has_left_over_claim:
            return _LEFT_OVER_CLAIM
        if not self.claims and not self._resources_from_devices(node):
            return None
        if self._failed_binding or not all(test(node) for test in self._tests):
            return _NOT_ON_NODE
        try:
            return _CANNOT_ALLOCATE if self.choices(node) is None else None
        except TimeoutError as error:
            return Rejection(_NAME, (str(error),), resolvable=False)
        except AllocationError as error:
            raise PluginError(f'running "{_NAME}" filter plugin: {error}') from None

    @property
    def has_alternatives(self) -> bool:
        """True if a request has subrequests, whose choice may differ between nodes."""
        return any(len(alternatives) > 1 for claim in self.unallocated for alternatives in device_requests(claim))

    def choices(self, node: NodeInfo) -> list[list[Choice]] | None:
        """Return the devices of each unallocated claim on the node, the extended resource claim last; None if they do
        not suffice.
        """
        from_devices = self._resources_from_devices(node)
        if from_devices not in self._allocators:
            extended = self.extended(node)
            claims = [*self.unallocated, *([extended.claim] if extended is not None else [])]
            catalog = self._catalog
            self._allocators[from_devices] = (
                Allocator(claims, catalog.classes, catalog.pools, catalog.usage) if claims else None
            )
        allocator = self._allocators[from_devices]
        return allocator.allocate(node) if allocator is not None else []

    def extended(self, node: NodeInfo) -> ExtendedResourceClaim | None:
        """Return the extended resource claim for the node; None if the node needs none."""
        from_devices = self._resources_from_devices(node)
        if from_devices not in self._extended:
            self._extended[from_devices] = extended_claim_for(self._pod, from_devices, self._catalog.resources)
        return self._extended[from_devices]

    def _resources_from_devices(self, node: NodeInfo) -> frozenset[str]:
        """Return the extended resources that are not in the node's ``allocatable``."""
        if not self._resources:
            return self._resources
        return frozenset(name for name in self._resources if not node.allocatable.get(name))


class _AlternativesScorer(PodScorer):
    """Scores nodes by the rank of the chosen subrequests."""

    def __init__(self, state: _ClaimsFilter) -> None:
        self._state = state

    def __call__(self, node: NodeInfo) -> int:
        chosen = self._state.choices(node) or ()
        score = 0
        for choices in chosen:
            ranks = {choice.request.name: choice.request.rank for choice in choices if "/" in choice.request.name}
            score += sum(_ALTERNATIVES_MAX - rank for rank in ranks.values())
        return score

    def normalize_scores(self, raw: Sequence[float], nodes: Sequence[NodeInfo]) -> list[int]:
        return default_normalize_score(raw)


def _claim_node_test(claim: Any) -> NodeTest | None:
    """Return a predicate for the nodes that reach the claim's devices; None if unrestricted or unallocated."""
    allocation = allocation_of(claim)
    selector = allocation.nodeSelector if allocation is not None else None
    return any_term(selector.nodeSelectorTerms) if selector is not None else None
