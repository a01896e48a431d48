"""Repair of cluster IPs: objects are read from the server before anything is written."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.addresses import parse_ip
from steersman.client.errors import AlreadyExists, Conflict, NotFound
from steersman.client.objects import key_of, resource_version_of
from steersman.client.resource_types import tree
from steersman.controlplane.bootstrap.cluster_ips import (
    AddressPlan,
    cluster_ips,
    index_objects,
    parent_key,
    plan_address,
    plan_everything,
    plan_service_addresses,
    service_ranges,
)
from steersman.controlplane.bootstrap.service_writes import SERVICES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from steersman.apimachinery.addresses import IPNetwork
    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.client import Client, ResourceType
    from steersman.controlplane.bootstrap.repair_reporter import Reporter


ADDRESSES: Final = tree("networking.k8s.io/v1", "IPAddress")
CIDRS: Final = tree("networking.k8s.io/v1", "ServiceCIDR")

#: Prefix of work queue keys.
SERVICE, ADDRESS = "service:", "address:"

#: Delay before a Service that is being changed is checked again, in seconds.
_SOON: Final = 0.5


class ClusterIPRepairer:
    """Repairs one object at a time from the live state. Methods raise ``ApiError``, ``ClientError``."""

    def __init__(self, client: Client, *, own: Sequence[IPNetwork], clock: Clock, reporter: Reporter) -> None:
        self._client = client
        self._own = own
        self._clock = clock
        self._reporter = reporter

    async def whole_pass(self) -> None:
        """Run one full pass."""
        addresses = await self._client.list_all(ADDRESSES)
        services = await self._client.list_all(SERVICES)
        ranges = await self._ranges()
        affected_keys: dict[str, None] = {}
        for plan in plan_everything(services, addresses, ranges, now=self._clock.now()):
            affected_keys |= dict.fromkeys(_key_of(finding.about) for finding in plan.findings)
            affected_keys |= dict.fromkeys(SERVICE + "/".join(parent_key(address)) for address in plan.make)
        for key in affected_keys:
            await self.check(key)

    async def check(self, key: str) -> float | None:
        """Verify the Service or address of a key and repair it; return the seconds until the next check."""
        if key.startswith(SERVICE):
            plan = await self._plan_service(key.removeprefix(SERVICE))
        else:
            plan = await self._plan_address(key.removeprefix(ADDRESS))
        self._reporter.report(plan.findings)
        for address in plan.remove:
            metadata = address["metadata"]
            await _unless_raced(self._client.delete(ADDRESSES, metadata["name"], uid=metadata["uid"]))
        for desired_address in plan.make:
            await _unless_raced(self._client.create(desired_address))
        return plan.again_seconds

    async def _plan_service(self, key: str) -> AddressPlan:
        """Plan a Service and its addresses: consistent if the Service did not change while they were read."""
        namespace, _, name = key.partition("/")
        service = await self._get(SERVICES, name, namespace)
        if service is None:
            return AddressPlan()
        names = [str(ip) for ip in map(parse_ip, cluster_ips(service)) if ip is not None]
        addresses = [address for address in [await self._get(ADDRESSES, name) for name in names] if address is not None]
        parents = [service]
        for other in {parent_key(address) for address in addresses} - {(namespace, name)}:
            parents += await self._service(*other)
        plan = plan_service_addresses(service, index_objects(parents, addresses, await self._ranges()))
        after = await self._get(SERVICES, name, namespace) if plan.findings or plan.changes else service
        version = resource_version_of(service)
        return plan if after is not None and resource_version_of(after) == version else AddressPlan(again_seconds=_SOON)

    async def _plan_address(self, name: str) -> AddressPlan:
        address = await self._get(ADDRESSES, name)
        if address is None:
            return AddressPlan()
        services = await self._service(*parent_key(address))
        return plan_address(address, index_objects(services, [address], ()), now=self._clock.now())

    async def _service(self, namespace: str, name: str) -> list[Tree]:
        service = await self._get(SERVICES, name, namespace) if namespace and name else None
        return [] if service is None else [service]

    async def _ranges(self) -> list[IPNetwork]:
        return service_ranges(await self._client.list(CIDRS), self._own)

    async def _get(self, resource_type: ResourceType[Tree], name: str, namespace: str | None = None) -> Tree | None:
        try:
            return await self._client.get(resource_type, name, namespace=namespace)
        except NotFound:
            return None


def _key_of(obj: Tree) -> str:
    return (SERVICE if obj["kind"] == "Service" else ADDRESS) + key_of(obj)


async def _unless_raced(write: Awaitable[Tree]) -> None:
    """Await a write; a conflict is not an error, because the other writer repaired or changed the object."""
    with suppress(AlreadyExists, Conflict, NotFound):
        await write
