"""What the scheduler writes into claims for devices: what they get, and whom they serve."""

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
from steersman.scheduler.looking import is_refusal, look
from steersman.scheduler.writing import patch_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.client.client import Client
    from steersman.scheduler.devices.catalog import DeviceCatalog
    from steersman.scheduler.devices.extended import Extended
    from steersman.scheduler.plugins.dynamic_resources import Reservation
    from steersman.scheduler.pod_info import PodInfo

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
#: Writes of one claim that others keep changing.
_TRIES_MAX: Final = 5


class ClaimChangedError(Exception):
    """A claim is not what it was when its pod was given a node."""


class DevicesNotReadyError(Exception):
    """A pod's devices did not become ready in time."""


class ClaimWriter:
    """Every write is told to the catalog, so that it need not wait for the watch."""

    def __init__(self, client: Client, catalog: DeviceCatalog) -> None:
        self._client = client
        self._catalog = catalog
        self._changed = asyncio.Event()

    def claims_changed(self) -> None:
        """A claim is another than before: those who wait for devices look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def reserve(self, reservation: Reservation, pod: PodInfo) -> list[Any]:
        """Write what the claims get, and that the pod uses them; as they are now.

        Raises ApiError, RequestFailed, ClaimChangedError.
        """
        written = [await self._bind(claim, given, pod) for claim, given in reservation.allocate]
        written += [await self._bind(claim, None, pod) for claim in reservation.reserve]
        if reservation.extended is not None:
            extended, given = reservation.extended
            written.append(await self._make(extended, given, pod))
        return written

    async def _make(self, extended: Extended, given: Any, pod: PodInfo) -> Any:
        """The pod's claim for extended resources, which there was only in memory so far."""
        metadata = msgspec.structs.replace(extended.claim.metadata, name=None, uid=None)
        claim = await self._client.create(msgspec.structs.replace(extended.claim, metadata=metadata))
        self._catalog.put_claim(claim)
        try:
            bound = await self._bind(claim, given, pod)
            told = {"requestMappings": extended.mappings, "resourceClaimName": claim.metadata.name}
            await patch_status(self._client, pod, {"extendedResourceClaimStatus": told})
        except Exception:
            # It may have its devices, whatever the answers were: until the watch tells, or it is gone, they are its own.
            self._catalog.put_claim(self._reserved(claim, given, pod))
            await self.delete(claim)
            raise
        return bound

    async def delete(self, claim: Any) -> None:
        """A claim that was made for a pod that is not bound. Raises ApiError, RequestFailed."""
        try:
            found: Any = await self._client.get(ResourceClaim, claim.metadata.name, namespace=claim.metadata.namespace)
            finalizers = [each for each in found.metadata.finalizers or () if each != FINALIZER]
            if len(finalizers) < len(found.metadata.finalizers or ()):
                metadata = msgspec.structs.replace(found.metadata, finalizers=finalizers)
                await self._client.update(msgspec.structs.replace(found, metadata=metadata))
            await self._client.delete_object(found, uid=found.metadata.uid)
        except NotFound:
            pass
        self._catalog.remove_claim(claim)

    async def until_ready(self, claims: Sequence[Any], *, timeout_seconds: float) -> None:
        """Wait for devices. Raises ``BindingFailedError``, ``DevicesNotReadyError``, ``ClaimChangedError``."""
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

    async def _bind(self, claim: Any, given: Any, pod: PodInfo) -> Any:
        for attempt in range(_TRIES_MAX):
            if attempt:
                claim = await self._client.get(ResourceClaim, claim.metadata.name, namespace=claim.metadata.namespace)
            _require_unchanged(claim, given)
            try:
                if given is not None:
                    claim = await self._protect(claim)
                written = await self._client.update_status(self._reserved(claim, given, pod))
            except Conflict:
                if attempt == _TRIES_MAX - 1:
                    raise
            except ClientError as error:
                if is_refusal(error) or not await self._has_it(claim, pod):
                    raise
                return self._catalog.claims[key_of(claim)]
            else:
                self._catalog.written(written)
                return written
        raise AssertionError("the last try returns or raises")

    async def _has_it(self, claim: Any, pod: PodInfo) -> bool:
        """Whether a claim has its devices, and serves the pod, though the answer was lost. The catalog is told."""
        read = partial(self._client.get, ResourceClaim, claim.metadata.name, namespace=claim.metadata.namespace)
        found: Any = await look(read, clock=self._client.clock)
        if found is None:
            return False
        self._catalog.written(found)
        known = self._catalog.claims.get(key_of(claim))
        return known is not None and allocation_of(known) is not None and is_reserved_for(known, pod.uid)

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
        made = self._catalog.made.get(pod.uid)
        if reservation.extended is not None and made is not None:
            await self.delete(made)

    async def deallocate(self, claim: Any) -> None:
        """Give a claim's devices back. Raises ApiError, RequestFailed."""
        status = msgspec.structs.replace(claim.status, allocation=None, reservedFor=None, devices=None)
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
