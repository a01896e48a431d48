"""Controller of Services and IPAddresses, which repairs inconsistencies between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.client.objects import key_of
from steersman.controlplane.bootstrap.cluster_ip_repair import ADDRESS, ADDRESSES, CIDRS, SERVICE
from steersman.controlplane.bootstrap.cluster_ips import (
    AddressPlan,
    AllocatorObjects,
    cluster_ips,
    parent_key,
    plan_address,
    plan_service_addresses,
    service_ranges,
)
from steersman.controlplane.bootstrap.service_writes import SERVICES
from steersman.runtime.controller import LOW_PRIORITY, Controller
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.addresses import IPNetwork
    from steersman.apimachinery.trees import Tree
    from steersman.controlplane.bootstrap.cluster_ip_repair import ClusterIPRepairer
    from steersman.runtime.context import ControllerContext


#: Time for which an inconsistency of the caches must persist.
_SETTLE_SECONDS: Final = 0.3


class ClusterIPRepair(Controller):
    """Controller of Services and IPAddresses; an inconsistency of the caches is verified with the server."""

    name: ClassVar[str] = "ipallocator-repair-controller"

    def __init__(self, context: ControllerContext, repairer: ClusterIPRepairer, *, own: Sequence[IPNetwork]) -> None:
        super().__init__(context)
        self._repairer = repairer
        self._own = own
        self._services = self.watch(SERVICES, keys=lambda obj: (SERVICE + key_of(obj),))
        self._addresses = self.watch(ADDRESSES, keys=lambda obj: (ADDRESS + key_of(obj),))
        self._cidrs = self.informer(CIDRS)
        #: Keys with a fault in the caches at the last check. The caches are separate watches and may lag behind each other.
        self._suspects: set[str] = set()
        self._addresses.add_index("parent", lambda obj: ("/".join(parent_key(obj)),))
        self._services.add_index("address", cluster_ips)
        self._services.add_callback(lambda change: self._enqueue_addresses_of(change.latest))
        self._addresses.add_callback(lambda change: self._enqueue_services_of(change.latest))

    async def enqueue_all(self) -> None:
        """Enqueue all objects, in case the watches missed an event. Upstream: the repair loop's interval."""
        for service in self._services.lister:
            self.queue.add(SERVICE + key_of(service), priority=LOW_PRIORITY)
        for address in self._addresses.lister:
            self.queue.add(ADDRESS + key_of(address), priority=LOW_PRIORITY)

    async def reconcile(self, key: str) -> Result | None:
        """Check an object in the caches; a fault is repaired only if it persists."""
        plan = self._plan(key)
        if not (plan.findings or plan.changes):
            self._suspects.discard(key)
            return None if plan.again_seconds is None else Result(requeue_after_seconds=plan.again_seconds)
        if key not in self._suspects:
            self._suspects.add(key)
            return Result(requeue_after_seconds=_SETTLE_SECONDS)
        recheck = await self._repairer.check(key)
        self._suspects.discard(key)
        return None if recheck is None else Result(requeue_after_seconds=recheck)

    def _plan(self, key: str) -> AddressPlan:
        services, addresses = self._services.lister, self._addresses.lister
        objects = AllocatorObjects(lambda key: services.by_key("/".join(key)), addresses.by_key, self._ranges())
        if key.startswith(SERVICE):
            service = services.by_key(key.removeprefix(SERVICE))
            return AddressPlan() if service is None else plan_service_addresses(service, objects)
        address = addresses.by_key(key.removeprefix(ADDRESS))
        return AddressPlan() if address is None else plan_address(address, objects, now=self.clock.now())

    def _ranges(self) -> list[IPNetwork]:
        return service_ranges(self._cidrs.lister, self._own)

    def _enqueue_addresses_of(self, service: Tree) -> None:
        """Enqueue the former addresses of a deleted or changed Service."""
        for address in self._addresses.lister.by_index("parent", key_of(service)):
            self.queue.add(ADDRESS + key_of(address))

    def _enqueue_services_of(self, address: Tree) -> None:
        """Enqueue the Services that may lack a deleted or changed address."""
        for service in self._services.lister.by_index("address", address["metadata"]["name"]):
            self.queue.add(SERVICE + key_of(service))
