"""What the scheduler writes into claims for devices: what they get, and whom they serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from lightkube.models.resource_v1 import ResourceClaim, ResourceClaimConsumerReference, ResourceClaimStatus

from steersman.client.errors import Conflict, NotFound
from steersman.client.objects import key_of
from steersman.client.requests import PatchType
from steersman.scheduler.devices.catalog import allocation_of, consumers_of, is_reserved_for

if TYPE_CHECKING:
    from steersman.client.client import Client
    from steersman.scheduler.devices.catalog import DeviceCatalog
    from steersman.scheduler.plugins.dynamic_resources import Reservation
    from steersman.scheduler.pod_info import PodInfo

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
#: Writes of one claim that others keep changing.
_TRIES_MAX: Final = 5


class ClaimChangedError(Exception):
    """A claim is not what it was when its pod was given a node."""


class ClaimWriter:
    """Every write is told to the catalog, so that it need not wait for the watch."""

    def __init__(self, client: Client, catalog: DeviceCatalog) -> None:
        self._client = client
        self._catalog = catalog

    async def reserve(self, reservation: Reservation, pod: PodInfo) -> None:
        """Write what the claims get, and that the pod uses them. Raises ApiError, RequestFailed, ClaimChangedError."""
        for claim, given in reservation.allocate:
            await self._bind(claim, given, pod)
        for claim in reservation.reserve:
            await self._bind(claim, None, pod)

    async def _bind(self, claim: Any, given: Any, pod: PodInfo) -> None:
        for attempt in range(_TRIES_MAX):
            if attempt:
                claim = await self._client.get(ResourceClaim, claim.metadata.name, namespace=claim.metadata.namespace)
            _require_unchanged(claim, given)
            try:
                if given is not None:
                    claim = await self._protect(claim)
                self._catalog.written(await self._client.update_status(self._reserved(claim, given, pod)))
            except Conflict:
                if attempt == _TRIES_MAX - 1:
                    raise
            else:
                return

    async def _protect(self, claim: Any) -> Any:
        """With the finalizer that keeps it while it has devices."""
        finalizers = claim.metadata.finalizers or []
        if FINALIZER in finalizers:
            return claim
        metadata = msgspec.structs.replace(claim.metadata, finalizers=[*finalizers, FINALIZER])
        return await self._client.update(msgspec.structs.replace(claim, metadata=metadata))

    def _reserved(self, claim: Any, given: Any, pod: PodInfo) -> Any:
        status = claim.status or ResourceClaimStatus()
        if given is not None:
            given = msgspec.structs.replace(given, allocationTimestamp=self._client.clock.now())
            status = msgspec.structs.replace(status, allocation=given)
        if not is_reserved_for(claim, pod.uid):
            consumer = ResourceClaimConsumerReference(name=pod.name, resource="pods", uid=pod.uid)
            status = msgspec.structs.replace(status, reservedFor=[*consumers_of(claim), consumer])
        return msgspec.structs.replace(claim, status=status)

    async def release(self, reservation: Reservation, pod: PodInfo) -> None:
        """The pod was not bound: its claims do not serve it, but keep their devices (``Unreserve``). Raises RequestFailed."""
        claims = [*(claim for claim, _ in reservation.allocate), *reservation.reserve]
        for claim in claims:
            known = self._catalog.claims.get(key_of(claim))
            if known is None or not is_reserved_for(known, pod.uid):
                continue
            patch = {
                "metadata": {"uid": known.metadata.uid},
                "status": {"reservedFor": [{"$patch": "delete", "uid": pod.uid}]},
            }
            try:
                self._catalog.written(
                    await self._client.patch(
                        ResourceClaim,
                        known.metadata.name,
                        patch,
                        patch_type=PatchType.STRATEGIC,
                        namespace=known.metadata.namespace,
                        subresource="status",
                    )
                )
            except NotFound:
                continue

    async def deallocate(self, claim: Any) -> None:
        """Give a claim's devices back. Raises ApiError, RequestFailed."""
        status = msgspec.structs.replace(claim.status, allocation=None, reservedFor=None)
        try:
            self._catalog.written(await self._client.update_status(msgspec.structs.replace(claim, status=status)))
        except (Conflict, NotFound):
            return  # it is another already, and the pod is tried again


def _require_unchanged(claim: Any, given: Any) -> None:
    key = key_of(claim)
    if claim.metadata.deletionTimestamp is not None:
        raise ClaimChangedError(f"claim {key} got deleted in the meantime")
    if given is not None and allocation_of(claim) is not None:
        raise ClaimChangedError(f"claim {key} got allocated elsewhere in the meantime")
    if given is None and allocation_of(claim) is None:
        raise ClaimChangedError(f"claim {key} lost its allocation in the meantime")
