"""ResourceClaims, DeviceClasses and ResourceSlices with the allocated devices, maintained by the event handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.scheduler.devices.capacity import Usage
from steersman.scheduler.devices.extended import extended_resource_classes, owner_of, pending_claim_uid
from steersman.scheduler.devices.pools import Pools
from steersman.scheduler.devices.results import held_devices

if TYPE_CHECKING:
    from steersman.scheduler.devices.pools import DeviceID


class DeviceCatalog:
    """DRA objects, and pending allocations of assumed pods. Upstream: ``dynamicresources.DefaultDRAManager``."""

    def __init__(self) -> None:
        self.claims: Final[dict[str, Any]] = {}
        self.classes: Final[dict[str, Any]] = {}
        #: DeviceClass by extended resource name.
        self.resources: Final[dict[str, str]] = {}
        #: Claims created for extended resources, by pod UID.
        self.created_claims: Final[dict[str, Any]] = {}
        self.usage: Final = Usage()
        self._slices: Final[dict[str, Any]] = {}
        self._pools: Pools | None = None
        #: Allocations that are not confirmed to be written, by claim UID.
        self._pending: Final[dict[str, Any]] = {}
        self._counted: Final[dict[str, list[tuple[DeviceID, dict[str, int]]]]] = {}

    @property
    def pools(self) -> Pools:
        """Device pools of all slices."""
        if self._pools is None:
            self._pools = Pools(self._slices.values())
        return self._pools

    def put_slice(self, key: str, slice_: Any) -> None:
        """Add or update a ResourceSlice; None deletes it."""
        self._pools = None
        if slice_ is None:
            self._slices.pop(key, None)
        else:
            self._slices[key] = slice_

    def put_class(self, key: str, class_: Any) -> bool:
        """Add or update a DeviceClass, None deletes it; return True if the extended resource mapping changed."""
        if class_ is None:
            self.classes.pop(key, None)
        else:
            self.classes[key] = class_
        served = extended_resource_classes(self.classes.values())
        if served == self.resources:
            return False
        self.resources.clear()
        self.resources.update(served)
        return True

    def put_claim(self, claim: Any) -> bool:
        """Add or update a claim; return False if a newer version is already stored."""
        key = f"{claim.metadata.namespace}/{claim.metadata.name}"
        cached = self.claims.get(key)
        if cached is not None:
            if cached.metadata.uid != claim.metadata.uid:
                self.remove_claim(cached)
            elif _revision(cached) > _revision(claim):
                return False
        self.claims[key] = claim
        self._count(claim)
        pod = owner_of(claim)
        if pod:
            self.created_claims[pod] = claim
            if allocation_of(claim) is not None:
                self.remove_pending_for_pod(pod)
        return True

    def written(self, claim: Any) -> None:
        """Store the response of a write, unless the claim was deleted meanwhile."""
        cached = self.claims.get(f"{claim.metadata.namespace}/{claim.metadata.name}")
        if cached is not None and cached.metadata.uid == claim.metadata.uid:
            self.put_claim(claim)

    def remove_claim(self, claim: Any) -> None:
        """Remove a deleted claim."""
        self.claims.pop(f"{claim.metadata.namespace}/{claim.metadata.name}", None)
        pod = owner_of(claim)
        if pod and self.created_claims.get(pod, claim).metadata.uid == claim.metadata.uid:
            self.created_claims.pop(pod, None)
        self._recount(claim.metadata.uid, self._pending.get(claim.metadata.uid))

    # Pending allocations

    def is_pending(self, claim: Any) -> bool:
        """Report whether an allocation of the claim is pending. Upstream: ``ClaimHasPendingAllocation``."""
        return claim.metadata.uid in self._pending

    def add_pending(self, claim: Any, allocation: Any) -> None:
        """Hold the devices of an allocation until ``remove_pending``. Upstream: ``SignalClaimPendingAllocation``."""
        self._pending[claim.metadata.uid] = allocation
        self._count(claim)

    def remove_pending(self, claim: Any) -> None:
        """Drop the pending allocation after it was written or abandoned; only the claim's status counts from now on."""
        self._pending.pop(claim.metadata.uid, None)
        cached = self.claims.get(f"{claim.metadata.namespace}/{claim.metadata.name}")
        if cached is not None and cached.metadata.uid == claim.metadata.uid:
            self._count(cached)
        else:
            self._recount(claim.metadata.uid, None)

    def remove_pending_for_pod(self, pod: str) -> None:
        """Drop the pending extended resource claim of a pod, by pod UID."""
        uid = pending_claim_uid(pod)
        if self._pending.pop(uid, None) is not None:
            self._recount(uid, None)

    def _count(self, claim: Any) -> None:
        allocation = allocation_of(claim)
        self._recount(claim.metadata.uid, self._pending.get(claim.metadata.uid) if allocation is None else allocation)

    def _recount(self, uid: str, allocation: Any) -> None:
        for device, consumed in self._counted.pop(uid, ()):
            self.usage.count(device, consumed, -1)
        if allocation is not None:
            self._counted[uid] = list(held_devices(allocation))
            for device, consumed in self._counted[uid]:
                self.usage.count(device, consumed, 1)


def allocation_of(claim: Any) -> Any:
    """Return ``status.allocation``, or None."""
    return claim.status.allocation if claim.status is not None else None


def consumers_of(claim: Any) -> list[Any]:
    """Return ``status.reservedFor``."""
    return (claim.status.reservedFor if claim.status is not None else None) or []


def is_reserved_for(claim: Any, uid: str) -> bool:
    """Report whether the claim is reserved for the pod."""
    return any(consumer.uid == uid for consumer in consumers_of(claim))


def _revision(claim: Any) -> int:
    """Return the resource version as an integer; versions of one resource are comparable (KEP-5504)."""
    text = claim.metadata.resourceVersion or "0"
    return int(text) if text.isdigit() else 0
