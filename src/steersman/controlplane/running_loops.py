"""The loops of a server that is ready. Imported late: see ``loops``."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.observability.metrics import Family
from steersman.controlplane.bootstrap.authentication_controller import AuthenticationController
from steersman.controlplane.bootstrap.cluster_ip_controller import ClusterIPRepair
from steersman.controlplane.bootstrap.identity import (
    COLLECT_SECONDS,
    collect_identities,
    keep_identity,
)
from steersman.controlplane.bootstrap.namespace_controller import NamespaceController
from steersman.controlplane.bootstrap.service_cidr_controller import ServiceCIDRController
from steersman.controlplane.bootstrap.service_controller import (
    KubernetesServiceController,
    follow_leases,
    keep_lease,
)
from steersman.controlplane.elections.controller import ElectionController
from steersman.runtime.context import ControllerContext
from steersman.runtime.periodic import run_every

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

    from steersman.controlplane.loops import OwnLoops
    from steersman.runtime.controller import Controller

_log: Final = logging.getLogger(__name__)

#: Upstream's ``RepairServicesInterval``.
REPAIR_SECONDS: Final = 180.0
#: Roles, priority levels and the like.
DEFAULTS_SECONDS: Final = 60.0


class RunningLoops:
    """Controllers and timed work over one set of informers."""

    def __init__(self, loops: OwnLoops) -> None:
        self._loops = loops
        self._context = context = ControllerContext(loops.client)
        own = loops.ranges
        self._services = KubernetesServiceController(context, wish=loops.wish, ranges=own, reconciler=loops.reconciler)
        self._cluster_ips = ClusterIPRepair(context, loops.cluster_ips, own=own)
        wants_elections = loops.options.feature_gates.get("CoordinatedLeaderElection", True)
        self._elections = ElectionController(context) if wants_elections else None
        cidrs = ServiceCIDRController(
            context, own=loops.options.service_cluster_ip_range.split(","), make_default=loops.make_default_cidr
        )
        names = NamespaceController(context, loops.options.system_namespaces)
        told = None if loops.authentication is None else AuthenticationController(context, loops.authentication)
        all_of_them = (names, self._services, self._cluster_ips, cidrs, self._elections, told)
        self._controllers: list[Controller] = [one for one in all_of_them if one is not None]

    async def run(self) -> None:
        """Until cancelled."""
        context, loops = self._context, self._loops
        for name, reporter in (("ipallocator", loops.cluster_ip_faults), ("portallocator", loops.node_port_faults)):
            controller = f"{name}-repair-controller"
            reporter.begin(context.events.series_recorder(controller, f"{controller}-{loops.hostname}"))
        async with context.informers, asyncio.TaskGroup() as group:
            group.create_task(context.events.run(), name="events")
            for controller_ in self._controllers:
                group.create_task(controller_.run(), name=controller_.name)
            for name, work in self._beside():
                group.create_task(work, name=name)

    def _beside(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """What no watch tells of."""
        loops, clock, client = self._loops, self._loops.clock, self._loops.client
        if loops.place is not None and loops.options.endpoint_reconciler_type == "lease":
            yield "endpoint lease", keep_lease(loops.leases, loops.place.address, clock=clock)
            yield "endpoint leases", follow_leases(loops.leases, self._services, clock=clock)
        yield "identity lease", keep_identity(client, loops.identity, clock=clock)

        async def identities() -> None:
            await collect_identities(client, now=clock.now())

        async def node_ports() -> None:
            try:
                await loops.node_ports.whole_pass()
            except Exception:
                loops.node_port_faults.failed()
                raise

        yield "identity collector", self._every(COLLECT_SECONDS, identities)
        if self._elections is not None:
            yield "candidate collector", self._elections.collect()
        yield "node port repair", self._every(REPAIR_SECONDS, node_ports)
        yield "cluster IP repair", self._every(REPAIR_SECONDS, self._cluster_ips.look_at_everything)
        yield "default objects", self._every(DEFAULTS_SECONDS, loops.reconcile_defaults)

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        """The first time after the whole wait: a start has just done it."""
        clock, dice = self._context.clock, self._context.dice
        await clock.sleep(seconds)
        await run_every(seconds, work, clock=clock, dice=dice, log=_log, jitter=0.1)

    def families(self) -> list[Family]:
        """What controllers count, as this server tells metrics."""
        return [_family(metric) for metric in self._context.metrics.registry.collect()]


def _family(metric: Any) -> Family:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    samples = [
        (sample.name.removeprefix(name), tuple(sample.labels.items()), sample.value)
        for sample in metric.samples
        if not sample.name.endswith("_created")
    ]
    return Family(name, metric.type, metric.documentation, samples)
