"""Writes to ResourceClaims: allocation, reservation and release (the binding side of the DynamicResources plugin)."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from lightkube.models.resource_v1 import ResourceClaim, ResourceClaimConsumerReference, ResourceClaimStatus

from steersman.asynckit.timeouts import wait_for
from steersman.client.errors import ClientError, Conflict, NotFound
from steersman.client.objects import key_of
from steersman.client.requests import PatchType
from steersman.scheduler.devices.catalog import allocation_of, consumers_of, is_reserved_for
from steersman.scheduler.devices.readiness import awaits_devices, is_overdue, is_ready
from steersman.scheduler.read_back import is_rejected, read_back
from steersman.scheduler.writer import patch_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.client.client import Client
    from steersman.scheduler.devices.catalog import DeviceCatalog
    from steersman.scheduler.devices.extended import ExtendedResourceClaim
    from steersman.scheduler.plugins.dynamic_resources import Reservation
    from steersman.scheduler.pod_info import PodInfo

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
#: Attempts per claim on write conflicts.
_TRIES_MAX: Final = 5


class ClaimChangedError(Exception):
    """A claim has changed since its devices were chosen."""


class DevicesNotReadyError(Exception):
    """The binding conditions of a pod's devices were not met before the timeout."""


class ClaimWriter:
    """Writer of ResourceClaims; each result goes into the catalog at once, before the watch delivers it."""

    def __init__(self, client: Client, catalog: DeviceCatalog) -> None:
        self._client = client
        self._catalog = catalog
        self._changed = asyncio.Event()

    def claims_changed(self) -> None:
        """Wake waiters of ``until_ready`` to check the claims again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def reserve(self, reservation: Reservation, pod: PodInfo) -> list[Any]:
        """Write the allocations and add the pod to ``status.reservedFor``; return the updated claims.

        Raises ApiError, RequestFailed, ClaimChangedError.
        """
        written = [await self._bind(claim, allocation, pod) for claim, allocation in reservation.allocate]
        written += [await self._bind(claim, None, pod) for claim in reservation.reserve]
        if reservation.extended is not None:
            extended, allocation = reservation.extended
            written.append(await self._create_extended(extended, allocation, pod))
        return written

    async def _create_extended(self, extended: ExtendedResourceClaim, allocation: Any, pod: PodInfo) -> Any:
        """Create the pod's claim for extended resources, which existed in memory only."""
        metadata = msgspec.structs.replace(extended.claim.metadata, name=None, uid=None)
        claim = await self._client.create(msgspec.structs.replace(extended.claim, metadata=metadata))
        self._catalog.put_claim(claim)
        try:
            bound = await self._bind(claim, allocation, pod)
            extended_status = {"requestMappings": extended.mappings, "resourceClaimName": claim.metadata.name}
            await patch_status(self._client, pod, {"extendedResourceClaimStatus": extended_status})
        except Exception:
            # The writes may have succeeded without an answer: the devices stay allocated until the watch or the
            # deletion settles it.
            self._catalog.put_claim(self._reserved(claim, allocation, pod))
            await self.delete(claim)
            raise
        return bound

    async def delete(self, claim: Any) -> None:
        """Delete an extended resource claim of a pod that was not bound. Raises ApiError, RequestFailed."""
        try:
            stored: Any = await self._client.get(ResourceClaim, claim.metadata.name, namespace=claim.metadata.namespace)
            finalizers = [finalizer for finalizer in stored.metadata.finalizers or () if finalizer != FINALIZER]
            if len(finalizers) < len(stored.metadata.finalizers or ()):
                metadata = msgspec.structs.replace(stored.metadata, finalizers=finalizers)
                await self._client.update(msgspec.structs.replace(stored, metadata=metadata))
            await self._client.delete_object(stored, uid=stored.metadata.uid)
        except NotFound:
            pass
        self._catalog.remove_claim(claim)

    async def until_ready(self, claims: Sequence[Any], *, timeout_seconds: float) -> None:
        """Wait until all device binding conditions are met (KEP-5007).

        Raises ``BindingFailedError``, ``DevicesNotReadyError``, ``ClaimChangedError``.
        """
        keys = [key_of(claim) for claim in claims if awaits_devices(claim)]
        try:
            await wait_for(self._all_ready(keys, timeout_seconds), timeout_seconds, clock=self._client.clock)
        except TimeoutError:
            raise DevicesNotReadyError("device binding timeout") from None

    async def _all_ready(self, keys: Sequence[str], timeout_seconds: float) -> None:
        while True:
            changed = self._changed
            claims = [self._catalog.claims.get(key) for key in keys]
            if all(claim is not None and is_ready(claim) for claim in claims):
                return
            now = self._client.clock.now()
            for claim in claims:
                if claim is not None and is_overdue(claim, now=now, timeout_seconds=timeout_seconds):
                    raise DevicesNotReadyError(f"claim {claim.metadata.name} binding timeout")
            await changed.wait()

    async def _bind(self, claim: Any, allocation: Any, pod: PodInfo) -> Any:
        for attempt in range(_TRIES_MAX):
            if attempt:
                claim = await self._client.get(ResourceClaim, claim.metadata.name, namespace=claim.metadata.namespace)
            _require_unchanged(claim, allocation)
            try:
                if allocation is not None:
                    claim = await self._protect(claim)
                written = await self._client.update_status(self._reserved(claim, allocation, pod))
            except Conflict:
                if attempt == _TRIES_MAX - 1:
                    raise
            except ClientError as error:
                if is_rejected(error) or not await self._was_written(claim, pod):
                    raise
                return self._catalog.claims[key_of(claim)]
            else:
                self._catalog.written(written)
                return written
        raise AssertionError("the last try returns or raises")

    async def _was_written(self, claim: Any, pod: PodInfo) -> bool:
        """Read the claim back and report whether the write took effect; updates the catalog."""
        read = partial(self._client.get, ResourceClaim, claim.metadata.name, namespace=claim.metadata.namespace)
        stored: Any = await read_back(read, clock=self._client.clock)
        if stored is None:
            return False
        self._catalog.written(stored)
        cached = self._catalog.claims.get(key_of(claim))
        return cached is not None and allocation_of(cached) is not None and is_reserved_for(cached, pod.uid)

    async def _protect(self, claim: Any) -> Any:
        """Add the finalizer that protects an allocated claim from deletion."""
        finalizers = claim.metadata.finalizers or []
        if FINALIZER in finalizers:
            return claim
        metadata = msgspec.structs.replace(claim.metadata, finalizers=[*finalizers, FINALIZER])
        return await self._client.update(msgspec.structs.replace(claim, metadata=metadata))

    def _reserved(self, claim: Any, allocation: Any, pod: PodInfo) -> Any:
        status = claim.status or ResourceClaimStatus()
        if allocation is not None:
            allocation = msgspec.structs.replace(allocation, allocationTimestamp=self._client.clock.now())
            status = msgspec.structs.replace(status, allocation=allocation)
        if not is_reserved_for(claim, pod.uid):
            consumer = ResourceClaimConsumerReference(name=pod.name, resource="pods", uid=pod.uid)
            status = msgspec.structs.replace(status, reservedFor=[*consumers_of(claim), consumer])
        return msgspec.structs.replace(claim, status=status)

    async def release(self, reservation: Reservation, pod: PodInfo) -> None:
        """Remove the pod from ``status.reservedFor`` but keep the allocations (``Unreserve``). Raises RequestFailed."""
        claims = [*(claim for claim, _ in reservation.allocate), *reservation.reserve]
        for claim in claims:
            cached = self._catalog.claims.get(key_of(claim))
            if cached is None or not is_reserved_for(cached, pod.uid):
                continue
            patch = {
                "metadata": {"uid": cached.metadata.uid},
                "status": {"reservedFor": [{"$patch": "delete", "uid": pod.uid}]},
            }
            try:
                self._catalog.written(
                    await self._client.patch(
                        ResourceClaim,
                        cached.metadata.name,
                        patch,
                        patch_type=PatchType.STRATEGIC,
                        namespace=cached.metadata.namespace,
                        subresource="status",
                    )
                )
            except NotFound:
                continue
        created_claim = self._catalog.created_claims.get(pod.uid)
        if reservation.extended is not None and created_claim is not None:
            await self.delete(created_claim)

    async def deallocate(self, claim: Any) -> None:
        """Clear a claim's allocation. Raises ApiError, RequestFailed."""
        status = msgspec.structs.replace(claim.status, allocation=None, reservedFor=None, devices=None)
        try:
            self._catalog.written(await self._client.update_status(msgspec.structs.replace(claim, status=status)))
        except (Conflict, NotFound):
            return  # the claim has changed; the pod is retried anyway


def _require_unchanged(claim: Any, allocation: Any) -> None:
    key = key_of(claim)
    if claim.metadata.deletionTimestamp is not None:
        raise ClaimChangedError(f"claim {key} got deleted in the meantime")
    if allocation is not None and allocation_of(claim) is not None:
        raise ClaimChangedError(f"claim {key} got allocated elsewhere in the meantime")
    if allocation is None and allocation_of(claim) is None:
        raise ClaimChangedError(f"claim {key} lost its allocation in the meantime")
