"""Reconcilers of the Endpoints ``kubernetes``: by leases (the default), by a fixed count, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from steersman.client.errors import AlreadyExists, Conflict, NotFound
from steersman.client.resource_types import tree
from steersman.controlplane.bootstrap.endpoints import (
    endpoint_ports,
    plan_endpoints,
    plan_master_count,
    plan_slice,
    without_address,
)
from steersman.controlplane.bootstrap.kubernetes_service import NAME, NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client, ResourceType
    from steersman.controlplane.bootstrap.master_leases import MasterLeases


ENDPOINTS: Final = tree("v1", "Endpoints")
SLICES: Final = tree("discovery.k8s.io/v1", "EndpointSlice")

#: Attempts of a write: every server writes these objects, and reads again after a conflict.
_RACES_MAX: Final = 5


class EndpointReconciler(Protocol):
    """Interface. All methods raise ``ApiError``, ``ClientError`` and ``StoreError``."""

    async def reconcile(self, *, correct_ports: bool) -> None:
        """Publish the own address, and remove those of stopped servers."""

    async def remove(self) -> bool:
        """Remove the own address; return True if it was present."""


class EndpointsWriter:
    """Reader and writer of the Endpoints and EndpointSlice of ``kubernetes``."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def write(self, plan: Callable[[Tree | None], Tree | None]) -> bool:
        """Write the Endpoints of ``plan``, then the slice; report whether anything was written."""
        for _ in range(_RACES_MAX - 1):
            try:
                return await self._write_once(plan)
            except (AlreadyExists, Conflict, NotFound):
                pass
        return await self._write_once(plan)

    async def _write_once(self, plan: Callable[[Tree | None], Tree | None]) -> bool:
        existing = await self._get(ENDPOINTS)
        desired = plan(existing)
        if desired is not None:
            await self._put(desired, is_new=existing is None)
        endpoints = desired or existing
        if endpoints is None:
            return False
        slice_found = await self._get(SLICES)
        sliced = plan_slice(slice_found, endpoints)
        if sliced is None:
            return desired is not None
        if sliced.replaces:
            await self._client.delete(SLICES, NAME, namespace=NAMESPACE)
        await self._put(sliced.tree, is_new=sliced.replaces or slice_found is None)
        return True

    async def _get(self, resource_type: ResourceType[Tree]) -> Tree | None:
        try:
            return await self._client.get(resource_type, NAME, namespace=NAMESPACE)
        except NotFound:
            return None

    async def _put(self, desired: Tree, *, is_new: bool) -> None:
        await (self._client.create(desired) if is_new else self._client.update(desired))


class LeaseReconciler:
    """Reconciler that publishes servers whose lease in the store has not expired."""

    def __init__(self, writer: EndpointsWriter, leases: MasterLeases, *, address: str, port: int) -> None:
        self._writer = writer
        self._leases = leases
        self._address = address
        self._ports = endpoint_ports(port)

    async def reconcile(self, *, correct_ports: bool) -> None:
        """Renew the own lease, and publish the addresses of all servers with a lease."""
        await self._leases.hold(self._address)
        await self._publish(correct_ports=correct_ports)

    async def remove(self) -> bool:
        """Revoke the own lease, and publish the remaining addresses, even if there are none."""
        was_there = await self._leases.release(self._address)
        if was_there:
            await self._publish(correct_ports=False)
        return was_there

    async def _publish(self, *, correct_ports: bool) -> None:
        addresses = await self._leases.addresses()
        await self._writer.write(
            lambda existing: plan_endpoints(existing, addresses, self._ports, correct_ports=correct_ports)
        )


class MasterCountReconciler:
    """Reconciler for a fixed number of servers; a stopped one stays until another one replaces it."""

    def __init__(self, writer: EndpointsWriter, *, address: str, port: int, count: int) -> None:
        self._writer = writer
        self._address = address
        self._ports = endpoint_ports(port)
        self._count = count

    async def reconcile(self, *, correct_ports: bool) -> None:
        """Add the own address, and remove superfluous ones."""
        await self._writer.write(
            lambda existing: plan_master_count(
                existing, self._address, self._ports, count=self._count, correct_ports=correct_ports
            )
        )

    async def remove(self) -> bool:
        """Remove the own address."""
        return await self._writer.write(lambda existing: without_address(existing, self._address))


class NoneReconciler:
    """Reconciler that publishes nothing, for clusters where another component does."""

    async def reconcile(self, *, correct_ports: bool) -> None:
        """Do nothing."""

    async def remove(self) -> bool:
        """Do nothing."""
        return False
