"""Claims, classes and slices, and which devices are taken; kept by the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.scheduler.devices.capacity import Usage
from steersman.scheduler.devices.extended import owner_of, promised_uid, resources_of
from steersman.scheduler.devices.pools import Pools
from steersman.scheduler.devices.results import held

if TYPE_CHECKING:
    from steersman.scheduler.devices.pools import DeviceID


class DeviceCatalog:
    """What is there, and what was promised to pods that are on their way."""

    def __init__(self) -> None:
        self.claims: Final[dict[str, Any]] = {}
        self.classes: Final[dict[str, Any]] = {}
        #: Extended resources that devices serve as, with their class.
        self.resources: Final[dict[str, str]] = {}
        #: Claims that schedulers have made for extended resources, by the UID of their pod.
        self.made: Final[dict[str, Any]] = {}
        self.usage: Final = Usage()
        self._slices: Final[dict[str, Any]] = {}
        self._pools: Pools | None = None
        #: Allocations that were decided on and are not known to be written, by the claim's UID.
        self._pending: Final[dict[str, Any]] = {}
        self._counted: Final[dict[str, list[tuple[DeviceID, dict[str, int]]]]] = {}

    @property
    def pools(self) -> Pools:
        """All devices there are."""
        if self._pools is None:
            self._pools = Pools(self._slices.values())
        return self._pools

    def put_slice(self, key: str, slice_: Any) -> None:
        """A slice as it is now; None when it is gone."""
        self._pools = None
        if slice_ is None:
            self._slices.pop(key, None)
        else:
            self._slices[key] = slice_

    def put_class(self, key: str, class_: Any) -> bool:
        """A class as it is now, None when it is gone; whether other resources are served than before."""
        if class_ is None:
            self.classes.pop(key, None)
        else:
            self.classes[key] = class_
        served = resources_of(self.classes.values())
        if served == self.resources:
            return False
        self.resources.clear()
        self.resources.update(served)
        return True

    def put_claim(self, claim: Any) -> bool:
        """A claim as somebody has seen it; whether that is not older than what is known."""
        key = f"{claim.metadata.namespace}/{claim.metadata.name}"
        known = self.claims.get(key)
        if known is not None:
            if known.metadata.uid != claim.metadata.uid:
                self.remove_claim(known)
            elif _revision(known) > _revision(claim):
                return False
        self.claims[key] = claim
        self._count(claim)
        pod = owner_of(claim)
        if pod:
            self.made[pod] = claim
            if allocation_of(claim) is not None:
                self.settle_promise(pod)
        return True

    def written(self, claim: Any) -> None:
        """What a write has made of a claim, unless that is gone meanwhile."""
        known = self.claims.get(f"{claim.metadata.namespace}/{claim.metadata.name}")
        if known is not None and known.metadata.uid == claim.metadata.uid:
            self.put_claim(claim)

    def remove_claim(self, claim: Any) -> None:
        """A claim is gone."""
        self.claims.pop(f"{claim.metadata.namespace}/{claim.metadata.name}", None)
        pod = owner_of(claim)
        if pod and self.made.get(pod, claim).metadata.uid == claim.metadata.uid:
            self.made.pop(pod, None)
        self._recount(claim.metadata.uid, self._pending.get(claim.metadata.uid))

    # Promises

    def is_pending(self, claim: Any) -> bool:
        """Whether devices are promised to a claim that does not know it yet."""
        return claim.metadata.uid in self._pending

    def promise(self, claim: Any, given: Any) -> None:
        """Hold devices for a claim until ``settle``."""
        self._pending[claim.metadata.uid] = given
        self._count(claim)

    def settle(self, claim: Any) -> None:
        """What was promised is written, or given up: from now on only the claim's own status counts."""
        self._pending.pop(claim.metadata.uid, None)
        known = self.claims.get(f"{claim.metadata.namespace}/{claim.metadata.name}")
        if known is not None and known.metadata.uid == claim.metadata.uid:
            self._count(known)
        else:
            self._recount(claim.metadata.uid, None)

    def settle_promise(self, pod: str) -> None:
        """The claim that a scheduler makes for a pod (by its UID) is seen with its devices, or will not be made."""
        uid = promised_uid(pod)
        if self._pending.pop(uid, None) is not None:
            self._recount(uid, None)

    def _count(self, claim: Any) -> None:
        given = allocation_of(claim)
        self._recount(claim.metadata.uid, self._pending.get(claim.metadata.uid) if given is None else given)

    def _recount(self, uid: str, given: Any) -> None:
        for device, consumed in self._counted.pop(uid, ()):
            self.usage.count(device, consumed, -1)
        if given is not None:
            self._counted[uid] = list(held(given))
            for device, consumed in self._counted[uid]:
                self.usage.count(device, consumed, 1)


def allocation_of(claim: Any) -> Any:
    """What is allocated to it; None when nothing is."""
    return claim.status.allocation if claim.status is not None else None


def consumers_of(claim: Any) -> list[Any]:
    """Whom it is reserved for."""
    return (claim.status.reservedFor if claim.status is not None else None) or []


def is_reserved_for(claim: Any, uid: str) -> bool:
    """Whether a pod may use it."""
    return any(consumer.uid == uid for consumer in consumers_of(claim))


def _revision(claim: Any) -> int:
    """Revisions of one resource can be compared (KEP-5504)."""
    text = claim.metadata.resourceVersion or "0"
    return int(text) if text.isdigit() else 0
