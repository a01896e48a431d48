"""A pod's claims for devices must be allocated, or can be where it goes (KEP-4381)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from steersman.scheduler.devices.allocator import Allocator
from steersman.scheduler.devices.catalog import allocation_of, consumers_of, is_reserved_for
from steersman.scheduler.devices.requests import AllocationError, wants
from steersman.scheduler.devices.results import allocation
from steersman.scheduler.framework import Blocked, Check, Fault, Plugin, Rejection, Scorer, scaled
from steersman.scheduler.matching import any_term

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from steersman.scheduler.devices.allocator import Choice
    from steersman.scheduler.devices.catalog import DeviceCatalog
    from steersman.scheduler.matching import NodeTest
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

_NAME: Final = "DynamicResources"
_CANNOT: Final = Rejection(_NAME, ("cannot allocate all claims",), resolvable=False)
_ELSEWHERE: Final = Rejection(_NAME, ("resourceclaim not available on the node",), resolvable=False)
#: ``ResourceClaimReservedForMaxSize``.
_CONSUMERS_MAX: Final = 256
#: ``FirstAvailableDeviceRequestMaxSize``: what the first of several alternatives is worth.
_ALTERNATIVES_MAX: Final = 8

NO_CLAIMS: Final = "no new claims to deallocate"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
STILL_NOT: Final = "still not schedulable"


class Reservation(NamedTuple):
    """What is to be written before a pod is bound."""

    #: Claims with what they get.
    allocate: tuple[tuple[Any, Any], ...] = ()
    #: Claims that have theirs, and serve the pod too.
    reserve: tuple[Any, ...] = ()


class DynamicResources(Plugin):
    """Claims that have devices bind a pod to their nodes; others get theirs where the pod goes."""

    name: ClassVar[str] = _NAME

    def __init__(self, catalog: DeviceCatalog, *, dice: random.Random) -> None:
        """``dice`` makes the IDs of shares."""
        self._catalog = catalog
        self._dice = dice

    def holds_back(self, pod: PodInfo) -> str:
        """Why the pod is not worth a try yet (``PreEnqueue``): its claims are not all there. Empty when they are."""
        try:
            self._claims(pod)
        except Blocked as blocked:
            return blocked.reason
        return ""

    def check(self, pod: PodInfo, cluster: Snapshot) -> _Devices | None:
        if not pod.device_claims:
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
        return _Devices(self._catalog, claims, missing)

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
        check = self.check(pod, cluster)
        if check is None or check.allocator is None or not check.allocator.has_alternatives:
            return None
        return _Preferred(check.allocator)

    def reservation(self, pod: PodInfo, cluster: Snapshot, node: NodeInfo) -> Reservation:
        """What is to be written when the pod goes to the node, which the check has let through. The devices are held."""
        check = self.check(pod, cluster)
        if check is None:
            return Reservation()
        chosen = check.choices(node) or ()
        allocate = []
        for claim, choices in zip(check.missing, chosen, strict=True):
            given = allocation(claim, choices, node.name, self._catalog.classes, dice=self._dice)
            self._catalog.promise(claim, given)
            allocate.append((claim, given))
        has = [each for each in check.claims if each not in check.missing and not is_reserved_for(each, pod.uid)]
        return Reservation(tuple(allocate), tuple(has))

    def after_failure(self, pod: PodInfo, cluster: Snapshot) -> tuple[str, Any]:
        """What can be done for a pod without a node (``PostFilter``): the words for it, and a claim to be given back.

        A claim that nobody uses, but whose devices are out of reach, may get others.
        """
        if not pod.device_claims:
            return NO_CLAIMS, None
        try:
            claims = self._claims(pod)
        except Blocked:
            return STILL_NOT, None
        if not claims:
            return NO_CLAIMS, None
        for claim in claims:
            test = _reachable_from(claim)
            if test is None or all(test(node) for node in cluster.nodes):
                continue
            if not any(consumer.uid != pod.uid for consumer in consumers_of(claim)):
                return DEALLOCATED, claim
        return STILL_NOT, None


class _Devices(Check):
    def __init__(self, catalog: DeviceCatalog, claims: Sequence[Any], missing: Sequence[Any]) -> None:
        self.claims = claims
        #: Those that have nothing yet.
        self.missing = missing
        self._tests = [test for claim in claims if (test := _reachable_from(claim)) is not None]
        self.allocator = Allocator(missing, catalog.classes, catalog.pools, catalog.usage) if missing else None

    def __call__(self, node: NodeInfo) -> Rejection | None:
        if not all(test(node) for test in self._tests):
            return _ELSEWHERE
        try:
            return _CANNOT if self.choices(node) is None else None
        except TimeoutError as error:
            return Rejection(_NAME, (str(error),), resolvable=False)
        except AllocationError as error:
            raise Fault(f'running "{_NAME}" filter plugin: {error}') from None

    def choices(self, node: NodeInfo) -> list[list[Choice]] | None:
        """For each claim without devices those that it would get on the node."""
        return self.allocator.allocate(node) if self.allocator is not None else []


class _Preferred(Scorer):
    """Nodes are liked where requests get their first choice."""

    def __init__(self, allocator: Allocator) -> None:
        self._allocator = allocator

    def __call__(self, node: NodeInfo) -> int:
        chosen = self._allocator.allocate(node) or ()
        ranks = {
            choice.want.name: choice.want.rank for choices in chosen for choice in choices if "/" in choice.want.name
        }
        return sum(_ALTERNATIVES_MAX - rank for rank in ranks.values())

    def normalized(self, raw: Sequence[float], nodes: Sequence[NodeInfo]) -> list[int]:
        return scaled(raw)


def _reachable_from(claim: Any) -> NodeTest | None:
    """Whether a node reaches the claim's devices; None where all do, or it has none."""
    given = allocation_of(claim)
    selector = given.nodeSelector if given is not None else None
    return any_term(selector.nodeSelectorTerms) if selector is not None else None
