"""A pod's claims for devices must be allocated, or can be where it goes (KEP-4381)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from steersman.apimachinery.durations import parse_duration
from steersman.scheduler.devices.allocator import Allocator
from steersman.scheduler.devices.catalog import allocation_of, consumers_of, is_reserved_for
from steersman.scheduler.devices.extended import claim_for
from steersman.scheduler.devices.readiness import BindingFailedError, is_overdue, is_ready
from steersman.scheduler.devices.requests import AllocationError, wants
from steersman.scheduler.devices.results import allocation
from steersman.scheduler.framework import Blocked, Check, Fault, Plugin, Rejection, Scorer, scaled
from steersman.scheduler.matching import any_term

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from steersman.scheduler.devices.allocator import Choice
    from steersman.scheduler.devices.catalog import DeviceCatalog
    from steersman.scheduler.devices.extended import Extended
    from steersman.scheduler.matching import NodeTest
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

_NAME: Final = "DynamicResources"
_CANNOT: Final = Rejection(_NAME, ("cannot allocate all claims",), resolvable=False)
_ELSEWHERE: Final = Rejection(_NAME, ("resourceclaim not available on the node",), resolvable=False)
_LEFT_OVER: Final = Rejection(_NAME, ("cannot schedule extended resource claim",), resolvable=False)
#: ``ResourceClaimReservedForMaxSize``.
_CONSUMERS_MAX: Final = 256
#: ``FirstAvailableDeviceRequestMaxSize``: what the first of several alternatives is worth.
_ALTERNATIVES_MAX: Final = 8

NO_CLAIMS: Final = "no new claims to deallocate"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"
STILL_NOT: Final = "still not schedulable"


class Reservation(NamedTuple):
    """What is to be written before a pod is bound."""

    #: Claims with what they get.
    allocate: tuple[tuple[Any, Any], ...] = ()
    #: Claims that have theirs, and serve the pod too.
    reserve: tuple[Any, ...] = ()
    #: The claim that is to be made for extended resources, and what it gets.
    extended: tuple[Extended, Any] | None = None


class Remedy(NamedTuple):
    """What may help a pod that found no node: one of its claims loses its devices, or goes."""

    words: str
    deallocate: Any = None
    delete: Any = None


class DynamicResources(Plugin):
    """Claims that have devices bind a pod to their nodes; others get theirs where the pod goes."""

    name: ClassVar[str] = _NAME

    def __init__(
        self, catalog: DeviceCatalog, args: Mapping[str, Any], *, dice: random.Random, now: Callable[[], datetime]
    ) -> None:
        """``args``: ``DynamicResourcesArgs`` with their defaults; ``dice`` makes the IDs of shares."""
        #: So long devices have to become ready.
        self.binding_timeout_seconds: Final = parse_duration(args["bindingTimeout"])
        self._catalog = catalog
        self._dice = dice
        self._now = now

    @property
    def in_place_of_resources(self) -> Mapping[str, str]:
        """Extended resources that devices can serve as, always as they are now."""
        return self._catalog.resources

    def holds_back(self, pod: PodInfo) -> str:
        """Why the pod is not worth a try yet (``PreEnqueue``): its claims are not all there. Empty when they are."""
        try:
            self._claims(pod)
        except Blocked as blocked:
            return blocked.reason
        return ""

    def check(self, pod: PodInfo, cluster: Snapshot) -> _Devices | None:
        resources = self._resources(pod)
        if not pod.device_claims and not resources:
            return None
        claims = self._claims(pod)
        missing = []
        for claim in claims:
            if allocation_of(claim) is not None:
                if len(consumers_of(claim)) >= _CONSUMERS_MAX and not is_reserved_for(claim, pod.uid):
                    raise Blocked(_NAME, "resourceclaim in use")
                continue
            if self._catalog.is_pending(claim):
                key = f"{claim.metadata.namespace}/{claim.metadata.name}"
                raise Blocked(_NAME, f"resource claim {key} is in the process of being allocated")
            self._find_classes(claim)
            missing.append(claim)
        lost = [each for each in claims if self._is_lost(each)]
        return _Devices(self._catalog, pod, claims=claims, missing=missing, lost=lost, resources=resources)

    def _resources(self, pod: PodInfo) -> frozenset[str]:
        """What the pod asks for that devices can serve as."""
        served = self._catalog.resources
        return frozenset(name for name in pod.requests if name in served) if served else frozenset()

    def _is_lost(self, claim: Any) -> bool:
        """Whether its devices will not become ready, or have taken too long."""
        try:
            ready = is_ready(claim)
        except BindingFailedError:
            return True
        return not ready and is_overdue(claim, now=self._now(), timeout_seconds=self.binding_timeout_seconds)

    def _claims(self, pod: PodInfo) -> list[Any]:
        """The pod's claims. Raises Blocked when one cannot be used, whatever the node."""
        found = []
        for use in pod.device_claims:
            if use.fault:
                raise Blocked(_NAME, use.fault)
            if not use.claim:
                continue  # the pod's status says that none is needed
            claim = self._catalog.claims.get(f"{pod.namespace}/{use.claim}")
            if claim is None:
                raise Blocked(_NAME, f'resourceclaim.resource.k8s.io "{use.claim}" not found')
            if claim.metadata.deletionTimestamp is not None:
                raise Blocked(_NAME, f'resourceclaim "{use.claim}" is being deleted')
            owners = claim.metadata.ownerReferences or ()
            if use.must_be_owned and not any(each.controller and each.uid == pod.uid for each in owners):
                raise Blocked(
                    _NAME,
                    f"ResourceClaim {pod.namespace}/{use.claim} was not created for pod {pod.key} (pod is not owner)",
                )
            found.append(claim)
        return found

    def _find_classes(self, claim: Any) -> None:
        for alternatives in wants(claim):
            for want in alternatives:
                if not want.class_name:
                    raise Blocked(_NAME, f"request {want.name}: unsupported request type")
                if want.class_name not in self._catalog.classes:
                    raise Blocked(_NAME, f"request {want.name}: device class {want.class_name} does not exist")

    def scorer(self, pod: PodInfo, cluster: Snapshot) -> Scorer | None:
        check = self.check(pod, cluster) if pod.device_claims else None
        return _Preferred(check) if check is not None and check.has_alternatives else None

    def reservation(self, pod: PodInfo, cluster: Snapshot, node: NodeInfo) -> Reservation:
        """What is to be written when the pod goes to the node, which the check has let through. The devices are held."""
        check = self.check(pod, cluster)
        if check is None:
            return Reservation()
        extended = check.extended(node)
        wanted = [*check.missing, *([extended.claim] if extended is not None else [])]
        allocate = []
        for claim, choices in zip(wanted, check.choices(node) or (), strict=True):
            given = allocation(claim, choices, node.name, self._catalog.classes, dice=self._dice)
            self._catalog.promise(claim, given)
            allocate.append((claim, given))
        special = (extended, allocate.pop()[1]) if extended is not None else None
        has = [each for each in check.claims if each not in check.missing and not is_reserved_for(each, pod.uid)]
        return Reservation(tuple(allocate), tuple(has), special)

    def after_failure(self, pod: PodInfo, cluster: Snapshot) -> Remedy:
        """What can be done for a pod without a node (``PostFilter``).

        A claim that nobody uses, but whose devices are out of reach or of no use, may get others; one that was made for
        extended resources is made anew.
        """
        left_over = self._catalog.made.get(pod.uid)
        if not pod.device_claims and not self._resources(pod):
            return Remedy(NO_CLAIMS)
        try:
            claims = self._claims(pod)
        except Blocked:
            return Remedy(STILL_NOT)
        if not claims and not self._resources(pod):
            return Remedy(NO_CLAIMS)
        for claim in claims:
            test = _reachable_from(claim)
            if (test is None or all(test(node) for node in cluster.nodes)) and not self._is_lost(claim):
                continue
            if not any(consumer.uid != pod.uid for consumer in consumers_of(claim)):
                return Remedy(DEALLOCATED, deallocate=claim)
        if left_over is not None:
            return Remedy(DELETED, delete=left_over)
        return Remedy(STILL_NOT)


class _Devices(Check):
    def __init__(
        self,
        catalog: DeviceCatalog,
        pod: PodInfo,
        *,
        claims: Sequence[Any],
        missing: Sequence[Any],
        lost: Sequence[Any],
        resources: frozenset[str],
    ) -> None:
        """``resources``: what the pod asks for that devices can serve as, where nodes have none themselves."""
        self.claims = claims
        #: Those that have nothing yet.
        self.missing = missing
        self._lost = lost
        self._pod = pod
        self._catalog = catalog
        self._resources = resources
        self._left_over = bool(resources) and pod.uid in catalog.made
        self._tests = [test for claim in claims if (test := _reachable_from(claim)) is not None]
        #: By the resources that are to be served.
        self._allocators: dict[frozenset[str], Allocator | None] = {}
        self._extended: dict[frozenset[str], Extended | None] = {frozenset(): None}

    def __call__(self, node: NodeInfo) -> Rejection | None:
        if self._left_over:
            return _LEFT_OVER
        if not self.claims and not self._served(node):
            return None
        if self._lost or not all(test(node) for test in self._tests):
            return _ELSEWHERE
        try:
            return _CANNOT if self.choices(node) is None else None
        except TimeoutError as error:
            return Rejection(_NAME, (str(error),), resolvable=False)
        except AllocationError as error:
            raise Fault(f'running "{_NAME}" filter plugin: {error}') from None

    @property
    def has_alternatives(self) -> bool:
        """Whether some nodes may offer what is preferred to what others do."""
        return any(len(alternatives) > 1 for claim in self.missing for alternatives in wants(claim))

    def choices(self, node: NodeInfo) -> list[list[Choice]] | None:
        """For each claim without devices those that it would get on the node, the one for extended resources last."""
        served = self._served(node)
        if served not in self._allocators:
            extended = self.extended(node)
            claims = [*self.missing, *([extended.claim] if extended is not None else [])]
            catalog = self._catalog
            self._allocators[served] = (
                Allocator(claims, catalog.classes, catalog.pools, catalog.usage) if claims else None
            )
        allocator = self._allocators[served]
        return allocator.allocate(node) if allocator is not None else []

    def extended(self, node: NodeInfo) -> Extended | None:
        """The claim for extended resources as the node needs it; None when it needs none."""
        served = self._served(node)
        if served not in self._extended:
            self._extended[served] = claim_for(self._pod, served, self._catalog.resources)
        return self._extended[served]

    def _served(self, node: NodeInfo) -> frozenset[str]:
        """Resources that the node has none of itself."""
        if not self._resources:
            return self._resources
        return frozenset(name for name in self._resources if not node.allocatable.get(name))


class _Preferred(Scorer):
    """Nodes are liked where requests get their first choice."""

    def __init__(self, check: _Devices) -> None:
        self._check = check

    def __call__(self, node: NodeInfo) -> int:
        chosen = self._check.choices(node) or ()
        score = 0
        for choices in chosen:
            ranks = {choice.want.name: choice.want.rank for choice in choices if "/" in choice.want.name}
            score += sum(_ALTERNATIVES_MAX - rank for rank in ranks.values())
        return score

    def normalized(self, raw: Sequence[float], nodes: Sequence[NodeInfo]) -> list[int]:
        return scaled(raw)


def _reachable_from(claim: Any) -> NodeTest | None:
    """Whether a node reaches the claim's devices; None where all do, or it has none."""
    given = allocation_of(claim)
    selector = given.nodeSelector if given is not None else None
    return any_term(selector.nodeSelectorTerms) if selector is not None else None
