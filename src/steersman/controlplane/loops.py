"""The server's own loops: what makes a bare API server a cluster, and elections. All of them are clients of it.

``hooks`` run before the server is ready, ``begin`` when it is, ``retire`` before it goes. What only loops need is
imported after the start, in a thread, so that a start does not wait for it.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import socket
import sys
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from steersman.apiserver.kinds.core.service.node_port_registry import NodePortRegistry
from steersman.apiserver.kinds.shared.allocation import AddressRange, PortRange
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import Timeout
from steersman.client import Client, ClientError
from steersman.controlplane.bootstrap import authentication_config
from steersman.controlplane.bootstrap.cluster_ip_repair import ClusterIPRepairer
from steersman.controlplane.bootstrap.endpoint_reconcilers import (
    EndpointsWriter,
    LeaseReconciler,
    MasterCountReconciler,
    NoneReconciler,
)
from steersman.controlplane.bootstrap.errors import BootstrapError
from steersman.controlplane.bootstrap.identity import Identity, take_identity
from steersman.controlplane.bootstrap.kubernetes_service import ServiceWish
from steersman.controlplane.bootstrap.master_leases import MasterLeases
from steersman.controlplane.bootstrap.node_port_repair import NodePortRepairer
from steersman.controlplane.bootstrap.reporting import Reporter
from steersman.controlplane.bootstrap.service_keeping import correct_service
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.storage.store import StoreError
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.health.checks import Check
    from steersman.apiserver.observability.metrics import Family
    from steersman.apiserver.server.loopback import Loopback
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.bootstrap.authentication_config import AuthenticationInfo
    from steersman.controlplane.bootstrap.endpoint_reconcilers import EndpointReconciler
    from steersman.controlplane.bootstrap.public_address import Place
    from steersman.controlplane.options import APIServerOptions
    from steersman.controlplane.post_start import PostStartHooks
    from steersman.controlplane.running_loops import RunningLoops
    from steersman.storage.store import Store

_log: Final = logging.getLogger(__name__)

#: How long the first passes of the repair loops may take; then the server gives up.
FIRST_PASSES_SECONDS: Final = 60.0
#: How long a stop waits for the own address to be taken away: twice the reconcilers' interval.
RETIRE_SECONDS: Final = 20.0

_RETRY_SECONDS: Final = 1.0
_RUNNING: Final = "steersman.controlplane.running_loops"
_ERRORS: Final = (ClientError, StoreError)


class OwnLoops:
    """Of one server. Set ``place`` and ``authentication`` before the hooks run."""

    def __init__(
        self,
        loopback: Loopback,
        store: Store,
        options: APIServerOptions,
        *,
        clock: Clock,
        reconcile_defaults: Callable[[], Awaitable[None]],
        make_default_cidr: Callable[[], Awaitable[None]],
    ) -> None:
        """``reconcile_defaults`` mends roles and the like, ``make_default_cidr`` the range."""
        self.options: Final = options
        self.clock: Final = clock
        #: Where the server is reached; None: nowhere, so it publishes nothing.
        self.place: Place | None = None
        #: What is published of how clients prove who they are; None: nothing.
        self.authentication: AuthenticationInfo | None = None
        self.client: Final = Client(
            LoopbackTransport(loopback), clock=clock, user_agent=f"kube-apiserver/{KUBERNETES_VERSION}"
        )
        self.leases: Final = MasterLeases(store)
        self.ranges: Final = tuple(ip_network(text.strip()) for text in options.service_cluster_ip_range.split(","))
        self.cluster_ip_faults: Final = Reporter("apiserver_clusterip_repair_ip", "cluster IPs")
        self.node_port_faults: Final = Reporter("apiserver_nodeport_repair_port", "node ports")
        self.cluster_ips: Final = ClusterIPRepairer(
            self.client, own=self.ranges, clock=clock, reporter=self.cluster_ip_faults
        )
        self.node_ports: Final = NodePortRepairer(
            self.client, self._node_port_registry(store), reporter=self.node_port_faults
        )
        self.reconcile_defaults: Final = reconcile_defaults
        self.make_default_cidr: Final = make_default_cidr
        self.hostname: Final = socket.gethostname()
        self._run: Final = str(uuid4())
        self._tasks = Supervisor("own loops")
        self._running: RunningLoops | None = None
        self._retired = False

    # -- before the server is ready -----------------------------------------------------------------------------------

    def add_hooks(self, hooks: PostStartHooks) -> list[Check]:
        """Their checks; names are upstream's."""
        return [
            hooks.add("bootstrap-controller", self._or_later(self._prepare_service)),
            hooks.add("start-service-ip-repair-controllers", self._first_passes),
            hooks.add("start-cluster-authentication-info-controller", self._or_later(self.publish_authentication)),
            hooks.add("start-kube-apiserver-identity-lease-controller", self._or_later(self._take_identity)),
        ]

    def _or_later(self, work: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        """What a loop does again soon is no reason not to start: another server may be writing the same."""

        async def hook() -> None:
            try:
                await work()
            except _ERRORS as error:
                _log.warning("%s is tried again once the server is ready: %s", work.__name__.strip("_"), error)

        return hook

    async def _prepare_service(self) -> None:
        """The Service is there before anybody can ask; our address is not, until we can answer."""
        if await self._remove_quietly():
            _log.warning("found our own address in the Endpoints kubernetes: the last run did not end as it should")
        await correct_service(self.client, self.wish, ranges=self.ranges, at_start=True)

    async def _remove_quietly(self) -> bool:
        try:
            return await self.reconciler.remove()
        except _ERRORS as error:
            _log.warning("cannot remove our old address from the Endpoints kubernetes: %s", error)
            return False

    async def _first_passes(self) -> None:
        """Both loops, again and again, for a minute. Raises ``BootstrapError``."""
        passes = [
            (self.cluster_ips.whole_pass, self.cluster_ip_faults),
            (self.node_ports.whole_pass, self.node_port_faults),
        ]
        deadline = self.clock.monotonic() + FIRST_PASSES_SECONDS
        for whole_pass, reporter in passes:
            while True:
                try:
                    async with Timeout(deadline - self.clock.monotonic(), clock=self.clock):
                        await whole_pass()
                    break
                except (*_ERRORS, TimeoutError) as error:
                    reporter.failed()
                    if self.clock.monotonic() + _RETRY_SECONDS >= deadline:
                        raise BootstrapError(
                            f"unable to perform initial IP and Port allocation check: {error}"
                        ) from error
                    _log.warning("the first repair pass failed and is tried again: %s", error)
                await self.clock.sleep(_RETRY_SECONDS)

    async def publish_authentication(self) -> None:
        """The ConfigMap for API servers behind this one."""
        if self.authentication is not None:
            await authentication_config.publish(self.client, self.authentication)

    async def _take_identity(self) -> None:
        await take_identity(self.client, self.identity, now=self.clock.now())

    # -- what follows from options and place --------------------------------------------------------------------------

    @property
    def wish(self) -> ServiceWish:
        """The Service as it should be."""
        port = self.place.port if self.place is not None else self.options.secure_port
        ip = AddressRange(self.ranges[0]).first
        return ServiceWish(ip=str(ip), target_port=port, node_port=self.options.kubernetes_service_node_port)

    @property
    def identity(self) -> Identity:
        """Who this server is."""
        peer = self.place.authority if self.place is not None else ""
        return Identity(self.hostname, holder_suffix=self._run, peer_address=peer)

    @property
    def reconciler(self) -> EndpointReconciler:
        """As the options say."""
        place, writer = self.place, EndpointsWriter(self.client)
        match self.options.endpoint_reconciler_type:
            case "lease" if place is not None:
                return LeaseReconciler(writer, self.leases, address=place.address, port=place.port)
            case "master-count" if place is not None:
                count = self.options.apiserver_count
                return MasterCountReconciler(writer, address=place.address, port=place.port, count=count)
            case _:
                return NoneReconciler()

    def _node_port_registry(self, store: Store) -> NodePortRegistry:
        return NodePortRegistry(store, PortRange(*self.options.service_node_port_range))

    # -- while the server is ready ------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Publish the own address, and start the loops; that goes on after it returns."""
        try:
            await self.reconciler.reconcile(correct_ports=True)
        except _ERRORS as error:
            _log.warning("cannot publish our address yet: %s", error)
        self._tasks.start("loops", self._run_loops())

    async def _run_loops(self) -> None:
        module: Any = sys.modules.get(_RUNNING) or await asyncio.to_thread(importlib.import_module, _RUNNING)
        while True:
            try:
                running: RunningLoops = module.RunningLoops(self)
                self._running = running
                await running.run()
            except Exception:  # noqa: BLE001 — whatever it is: logged, and the server stays a cluster
                _log.exception("the server's own loops failed, they begin anew")
            await self.clock.sleep(_RETRY_SECONDS)

    async def collect(self) -> list[Family]:
        """For ``/metrics``."""
        families = [*await self.cluster_ip_faults.collect(), *await self.node_port_faults.collect()]
        return families if self._running is None else [*families, *self._running.families()]

    # -- before the server goes ---------------------------------------------------------------------------------------

    async def retire(self) -> None:
        """Stop the loops and take the own address away, within a bound: the storage may be gone. Idempotent."""
        if self._retired:
            return
        self._retired = True
        try:
            async with Timeout(RETIRE_SECONDS, clock=self.clock):
                await self.close()
                await self._remove_quietly()
        except TimeoutError:
            _log.warning("gave up removing our address from the Endpoints kubernetes")

    async def close(self) -> None:
        """Stop the loops, and nothing else, as a crash would. Idempotent."""
        await self._tasks.close()
