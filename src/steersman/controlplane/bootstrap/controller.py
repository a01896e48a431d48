"""Bootstrap controller: turns an API server into a cluster, as a client of that server.

Before the server is ready, post-start hooks create the Service ``kubernetes``, repair cluster IPs and node ports, publish the
authentication settings, and create the identity Lease. ``start_loops`` then publishes the server's endpoint and starts
``BootstrapLoops``, which maintain these objects while the server runs. ``stop`` ends the loops and withdraws the endpoint while
the server still serves requests.

Modules of the loops are imported in a thread after the start, so that they do not delay it.

Upstream: ``pkg/controlplane/controller/kubernetesservice/controller.go`` and the post-start hooks of ``pkg/controlplane/instance.go``.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import socket
import sys
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid4

from steersman.apiserver.kinds.core.service.node_port_registry import NodePortRegistry
from steersman.apiserver.kinds.shared.allocation import AddressRange, PortRange
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import Timeout
from steersman.client import Client, ClientError
from steersman.controlplane.bootstrap import authentication_config, legacy_token_tracking
from steersman.controlplane.bootstrap.cluster_ip_repair import ClusterIPRepairer
from steersman.controlplane.bootstrap.default_objects import NAMESPACES_HOOK, SERVICE_CIDR_HOOK
from steersman.controlplane.bootstrap.endpoint_reconcilers import (
    EndpointsWriter,
    LeaseReconciler,
    MasterCountReconciler,
    NoneReconciler,
)
from steersman.controlplane.bootstrap.errors import BootstrapError
from steersman.controlplane.bootstrap.identity import Identity, take_identity
from steersman.controlplane.bootstrap.kubernetes_service import DesiredService
from steersman.controlplane.bootstrap.loop_options import LoopOptions
from steersman.controlplane.bootstrap.master_leases import TTL_SECONDS, MasterLeases
from steersman.controlplane.bootstrap.node_port_repair import NodePortRepairer
from steersman.controlplane.bootstrap.repair_reporter import Reporter
from steersman.controlplane.bootstrap.service_writes import correct_service
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.controlplane.runtime_config import holds_elections
from steersman.storage.store import StoreError
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.apiserver.observability.metrics import Family
    from steersman.apiserver.server.loopback import Loopback
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.bootstrap.authentication_config import AuthenticationInfo
    from steersman.controlplane.bootstrap.default_objects import DefaultObjects
    from steersman.controlplane.bootstrap.endpoint_reconcilers import EndpointReconciler
    from steersman.controlplane.bootstrap.loops import BootstrapLoops
    from steersman.controlplane.bootstrap.post_start_hooks import PostStartHooks
    from steersman.controlplane.bootstrap.public_address import PublicEndpoint
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

_log: Final = logging.getLogger(__name__)

#: Time limit of the first repair of cluster IPs and node ports; the start fails after it.
FIRST_REPAIR_SECONDS: Final = 60.0
#: Time limit of ``stop``: twice the reconcilers' interval, as upstream.
STOP_SECONDS: Final = 20.0

_SERVICE_HOOK: Final = "bootstrap-controller"
_IDENTITY_HOOK: Final = "start-kube-apiserver-identity-lease-controller"
_RETRY_SECONDS: Final = 1.0
_LOOPS_MODULE: Final = "steersman.controlplane.bootstrap.loops"
_ERRORS: Final = (ClientError, StoreError)


class BootstrapController:
    """Bootstrap controller of one server. Set ``public_endpoint`` and ``authentication`` before the hooks run."""

    def __init__(
        self,
        loopback: Loopback,
        store: Store,
        options: APIServerOptions,
        *,
        clock: Clock,
        defaults: DefaultObjects,
        loop_options: LoopOptions | None = None,
    ) -> None:
        """``loopback`` calls the server; ``store`` holds the endpoint leases and the node port allocator."""
        self.options: Final = options
        self.clock: Final = clock
        self.defaults: Final = defaults
        self.loop_options: Final = loop_options or LoopOptions()
        #: Address and port to publish in the Endpoints ``kubernetes``; None to publish none.
        self.public_endpoint: PublicEndpoint | None = None
        #: Contents of the ConfigMap ``extension-apiserver-authentication``; None to leave it unchanged.
        self.authentication: AuthenticationInfo | None = None
        self.client: Final = Client(
            LoopbackTransport(loopback), clock=clock, user_agent=f"kube-apiserver/{KUBERNETES_VERSION}"
        )
        self.leases: Final = MasterLeases(
            store,
            ttl_seconds=int(TTL_SECONDS * self.loop_options.period_factor),
            media_type=options.stored_media_type,
        )
        self.service_ranges: Final = tuple(
            ip_network(text.strip()) for text in options.service_cluster_ip_range.split(",")
        )
        self.cluster_ip_reporter: Final = Reporter("apiserver_clusterip_repair_ip", "cluster IPs")
        self.node_port_reporter: Final = Reporter("apiserver_nodeport_repair_port", "node ports")
        self.cluster_ips: Final = ClusterIPRepairer(
            self.client, own=self.service_ranges, clock=clock, reporter=self.cluster_ip_reporter
        )
        self.node_ports: Final = NodePortRepairer(
            self.client,
            NodePortRegistry(store, PortRange(*options.service_node_port_range), media_type=options.stored_media_type),
            reporter=self.node_port_reporter,
        )
        #: True if the server has a Lease that names it (feature gate ``APIServerIdentity``).
        self.has_identity: Final = options.feature_gates.get("APIServerIdentity", True)
        self.hostname: Final = socket.gethostname()
        dice = self.loop_options.dice
        #: Identity of this server, for its Lease.
        self.identity: Final = Identity(
            self.hostname,
            holder_suffix=str(uuid4() if dice is None else UUID(int=dice.getrandbits(128), version=4)),
            peer_address=lambda: "" if self.public_endpoint is None else self.public_endpoint.authority,
        )
        self._tasks = Supervisor("bootstrap controller")
        self._is_started = False
        self._loops: BootstrapLoops | None = None
        self._is_stopped = False

    # -- derived from options and public endpoint ---------------------------------------------------------------------

    @property
    def desired_service(self) -> DesiredService:
        """Service ``kubernetes`` by the options of this server."""
        endpoint = self.public_endpoint
        return DesiredService(
            ip=str(AddressRange(self.service_ranges[0]).first),
            target_port=self.options.secure_port if endpoint is None else endpoint.port,
            node_port=self.options.kubernetes_service_node_port,
        )

    @property
    def reconciler(self) -> EndpointReconciler:
        """The endpoint reconciler of ``--endpoint-reconciler-type``."""
        endpoint, writer = self.public_endpoint, EndpointsWriter(self.client)
        match self.options.endpoint_reconciler_type:
            case "lease" if endpoint is not None:
                return LeaseReconciler(writer, self.leases, address=endpoint.address, port=endpoint.port)
            case "master-count" if endpoint is not None:
                count = self.options.apiserver_count
                return MasterCountReconciler(writer, address=endpoint.address, port=endpoint.port, count=count)
            case _:
                return NoneReconciler()

    # -- post-start hooks ---------------------------------------------------------------------------------------------

    def add_hooks(self, hooks: PostStartHooks) -> None:
        """Add the post-start hooks, under upstream's names. ``DefaultObjects`` has added its own before."""
        hooks.add(_SERVICE_HOOK, self._tolerant_hook(self._prepare_service), after=[NAMESPACES_HOOK, SERVICE_CIDR_HOOK])
        # The address of the Service exists then, so that a first start needs no repair.
        hooks.add("start-service-ip-repair-controllers", self._repair_first, after=[_SERVICE_HOOK])
        hooks.add(
            "start-cluster-authentication-info-controller",
            self._tolerant_hook(self.publish_authentication),
            after=[NAMESPACES_HOOK],
        )
        if self.has_identity:
            hooks.add(
                _IDENTITY_HOOK,
                self._tolerant_hook(self._take_identity),
                after=[NAMESPACES_HOOK],
            )
            hooks.add("start-kube-apiserver-identity-lease-garbage-collector", after=[_IDENTITY_HOOK])
        if holds_elections(self.options):
            hooks.add("start-kube-apiserver-coordinated-leader-election-controller", after=[NAMESPACES_HOOK])
        hooks.add(
            "start-legacy-token-tracking-controller",
            self._tolerant_hook(self._track_legacy_tokens),
            after=[NAMESPACES_HOOK],
        )

    def _tolerant_hook(self, work: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        """Return ``work`` as a hook whose failures are logged, for work that a loop repeats."""

        async def hook() -> None:
            try:
                await work()
            except _ERRORS as error:
                _log.warning("%s is tried again once the server is ready: %s", work.__name__.strip("_"), error)

        return hook

    async def _prepare_service(self) -> None:
        """Withdraw the endpoint of an earlier run until this one can serve, and create or correct the Service."""
        if await self._remove_endpoint():
            _log.warning("removed our address from the Endpoints kubernetes: the last run did not stop orderly")
        await correct_service(self.client, self.desired_service, ranges=self.service_ranges, at_start=True)

    async def _remove_endpoint(self) -> bool:
        """Remove the own address from the Endpoints; return True if it was present. A failure is logged."""
        try:
            return await self.reconciler.remove()
        except _ERRORS as error:
            _log.warning("cannot remove our address from the Endpoints kubernetes: %s", error)
            return False

    async def _repair_first(self) -> None:
        """Run both repairs until each has succeeded once. Raises ``BootstrapError`` after a minute."""
        deadline = self.clock.monotonic() + FIRST_REPAIR_SECONDS
        repairs = (
            (self.cluster_ips.whole_pass, self.cluster_ip_reporter),
            (self.node_ports.whole_pass, self.node_port_reporter),
        )
        try:
            async with asyncio.TaskGroup() as group:
                for repair, reporter in repairs:
                    group.create_task(self._repair_until(deadline, repair, reporter), name="first repair")
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _repair_until(self, deadline: float, repair: Callable[[], Awaitable[None]], reporter: Reporter) -> None:
        while True:
            try:
                async with Timeout(deadline - self.clock.monotonic(), clock=self.clock):
                    await repair()
            except (*_ERRORS, TimeoutError) as error:
                reporter.failed()
                if self.clock.monotonic() + _RETRY_SECONDS >= deadline:
                    raise BootstrapError(f"unable to perform initial IP and Port allocation check: {error}") from error
                _log.warning("the first repair pass failed and is tried again: %s", error)
            else:
                return
            await self.clock.sleep(_RETRY_SECONDS)

    async def move_endpoint(self, endpoint: PublicEndpoint | None) -> None:
        """Publish another endpoint, e.g. of a forked process, in place of the current one. Raises ``ClientError``, ``StoreError``."""
        self.public_endpoint = endpoint
        await correct_service(self.client, self.desired_service, ranges=self.service_ranges, at_start=True)
        await self.reconciler.reconcile(correct_ports=True)
        if self.has_identity:
            await self._take_identity()

    async def publish_authentication(self) -> None:
        """Write ``authentication`` to its ConfigMap. Raises ``ApiError``, ``ClientError``."""
        if self.authentication is not None:
            await authentication_config.publish(self.client, self.authentication)

    async def _take_identity(self) -> None:
        await take_identity(self.client, self.identity, clock=self.clock)

    async def _track_legacy_tokens(self) -> None:
        await legacy_token_tracking.track(self.client, self.clock.now().date())

    # -- while the server is ready ------------------------------------------------------------------------------------

    async def start_loops(self) -> None:
        """Publish the endpoint and start the task of the loops. Idempotent."""
        if self._is_started:
            return
        self._is_started = True
        try:
            await self.reconciler.reconcile(correct_ports=True)
        except _ERRORS as error:
            _log.warning("cannot publish our address yet: %s", error)
        self._tasks.start("loops", self._run_loops())

    async def _run_loops(self) -> None:
        module: Any = sys.modules.get(_LOOPS_MODULE) or await asyncio.to_thread(importlib.import_module, _LOOPS_MODULE)
        while True:
            try:
                loops: BootstrapLoops = module.BootstrapLoops(self)
                self._loops = loops
                await loops.run()
            except Exception:  # noqa: BLE001 — any failure is logged, and the loops are restarted
                _log.exception("the loops of the bootstrap controller failed and are restarted")
            await self.clock.sleep(_RETRY_SECONDS)

    async def collect(self) -> list[Family]:
        """Return the metrics of repairs and loops."""
        families = [*await self.cluster_ip_reporter.collect(), *await self.node_port_reporter.collect()]
        return families if self._loops is None else [*families, *self._loops.families()]

    # -- pre-shutdown hook --------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Stop the loops and withdraw the endpoint. Idempotent.

        Gives up after ``STOP_SECONDS``, so that an unreachable store does not block the shutdown.
        """
        if self._is_stopped:
            return
        self._is_stopped = True
        try:
            async with Timeout(STOP_SECONDS, clock=self.clock):
                await self.close()
                await self._remove_endpoint()
        except TimeoutError:
            _log.warning("gave up removing our address from the Endpoints kubernetes")

    async def close(self) -> None:
        """Stop the loops and leave the endpoint published, as after a crash. Idempotent."""
        await self._tasks.close()
