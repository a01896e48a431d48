"""Loops of the bootstrap controller, which run while the server is ready: controllers over informers, and periodic work.

docs/bootstrap.md lists them with their triggers and periods. Imported after the start: see ``controller``.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.observability.metrics import Family
from steersman.controlplane.bootstrap.authentication_controller import INTERVAL_SECONDS as AUTHENTICATION_SECONDS
from steersman.controlplane.bootstrap.authentication_controller import AuthenticationController
from steersman.controlplane.bootstrap.cluster_ip_controller import ClusterIPRepair
from steersman.controlplane.bootstrap.identity import (
    COLLECT_SECONDS,
    RENEW_SECONDS,
    collect_identities,
    identity_heartbeat,
)
from steersman.controlplane.bootstrap.legacy_token_tracking_controller import LegacyTokenTrackingController
from steersman.controlplane.bootstrap.namespace_controller import INTERVAL_SECONDS as NAMESPACES_SECONDS
from steersman.controlplane.bootstrap.namespace_controller import NamespaceController
from steersman.controlplane.bootstrap.service_cidr_controller import ServiceCIDRController
from steersman.controlplane.bootstrap.service_controller import (
    INTERVAL_SECONDS as SERVICE_SECONDS,
)
from steersman.controlplane.bootstrap.service_controller import (
    KubernetesServiceController,
    follow_leases,
    keep_lease,
)
from steersman.controlplane.elections.controller import ElectionController
from steersman.controlplane.runtime_config import holds_elections
from steersman.runtime.context import ControllerContext
from steersman.runtime.metrics import RuntimeMetrics
from steersman.runtime.periodic import run_every

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

    from steersman.controlplane.bootstrap.controller import BootstrapController
    from steersman.runtime.controller import Controller

_log: Final = logging.getLogger(__name__)

#: Period of the full repair of cluster IPs and node ports (upstream: ``RepairServicesInterval``).
REPAIR_SECONDS: Final = 180.0
#: Period of the repair of roles, priority classes and flow control.
DEFAULTS_SECONDS: Final = 60.0


class BootstrapLoops:
    """Controllers and periodic work of one server, over one set of informers."""

    def __init__(self, bootstrap: BootstrapController) -> None:
        self._bootstrap = bootstrap
        self._factor = factor = bootstrap.loop_options.period_factor
        self._context = context = ControllerContext(
            bootstrap.client,
            dice=bootstrap.loop_options.dice,
            metrics=RuntimeMetrics(process=False),
            reflector=bootstrap.loop_options.reflector,
        )
        options, ranges = bootstrap.options, bootstrap.service_ranges
        self._service = KubernetesServiceController(
            context,
            desired=lambda: bootstrap.desired_service,
            ranges=ranges,
            reconciler=lambda: bootstrap.reconciler,
            interval_seconds=SERVICE_SECONDS * factor,
        )
        self._cluster_ips = ClusterIPRepair(context, bootstrap.cluster_ips, own=ranges)
        self._controllers: list[Controller] = [
            NamespaceController(context, options.system_namespaces, interval_seconds=NAMESPACES_SECONDS * factor),
            self._service,
            self._cluster_ips,
            ServiceCIDRController(
                context,
                own=options.service_cluster_ip_range.split(","),
                make_default=bootstrap.defaults.create_service_cidr,
            ),
            LegacyTokenTrackingController(context),
        ]
        self._elections = ElectionController(context) if holds_elections(options) else None
        if self._elections is not None:
            self._controllers.append(self._elections)
        if bootstrap.authentication is not None:
            self._controllers.append(
                AuthenticationController(
                    context, bootstrap.publish_authentication, interval_seconds=AUTHENTICATION_SECONDS * factor
                )
            )

    async def run(self) -> None:
        """Run until cancelled. Raises the error of a loop."""
        context, bootstrap = self._context, self._bootstrap
        for name, reporter in (
            ("ipallocator", bootstrap.cluster_ip_reporter),
            ("portallocator", bootstrap.node_port_reporter),
        ):
            controller = f"{name}-repair-controller"
            reporter.begin(context.events.series_recorder(controller, f"{controller}-{bootstrap.hostname}"))
        async with context.informers, asyncio.TaskGroup() as group:
            group.create_task(context.events.run(), name="events")
            for loop in self._controllers:
                group.create_task(loop.run(), name=loop.name)
            for name, work in self._background_tasks():
                group.create_task(work, name=name)

    def _background_tasks(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """Return the loops that follow a timer or the store, by name."""
        bootstrap, clock, client = self._bootstrap, self._bootstrap.clock, self._bootstrap.client
        endpoint = bootstrap.public_endpoint
        if endpoint is not None and bootstrap.options.endpoint_reconciler_type == "lease":
            yield (
                "endpoint lease",
                keep_lease(
                    bootstrap.leases, endpoint.address, clock=clock, interval_seconds=SERVICE_SECONDS * self._factor
                ),
            )
            yield "endpoint leases", follow_leases(bootstrap.leases, self._service, clock=clock)
        dice, metrics = self._context.dice, self._context.metrics.heartbeats
        heartbeat = identity_heartbeat(
            client,
            bootstrap.identity,
            clock=clock,
            dice=dice,
            metrics=metrics,
            renew_seconds=RENEW_SECONDS * self._factor,
        )
        if bootstrap.has_identity:
            yield "identity lease", heartbeat.run()

        async def identities() -> None:
            await collect_identities(client, now=clock.now())

        async def node_ports() -> None:
            try:
                await bootstrap.node_ports.whole_pass()
            except Exception:
                bootstrap.node_port_reporter.failed()
                raise

        if bootstrap.has_identity:
            yield "identity collector", self._every(COLLECT_SECONDS, identities)
        if self._elections is not None:
            yield "candidate collector", self._elections.collect()
        yield "node port repair", self._every(REPAIR_SECONDS, node_ports)
        yield "cluster IP repair", self._every(REPAIR_SECONDS, self._cluster_ips.enqueue_all)
        yield "default objects", self._every(DEFAULTS_SECONDS, bootstrap.defaults.reconcile)

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        """Run ``work`` periodically, with jitter. The first run is one period after the start, which has just done it."""
        clock, dice, seconds = self._context.clock, self._context.dice, seconds * self._factor
        await clock.sleep(seconds)
        await run_every(seconds, work, clock=clock, dice=dice, log=_log, jitter=0.1)

    def families(self) -> list[Family]:
        """Return the metrics of the controllers, in the form that the server's ``/metrics`` uses."""
        return [_family(metric) for metric in self._context.metrics.registry.collect()]


def _family(metric: Any) -> Family:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    samples = [
        (sample.name.removeprefix(name), tuple(sample.labels.items()), sample.value)
        for sample in metric.samples
        if not sample.name.endswith("_created")
    ]
    return Family(name, metric.type, metric.documentation, samples)
