"""The API server without sockets: store → registry → chain → application, and its hooks.

``apiserver`` puts TLS and files around it, tests use it as it is. This is the composition root: the one place that knows
which body every interface gets.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from steersman.apiserver.crd.serving import CustomResources
from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.filters.max_in_flight import InFlight
from steersman.apiserver.filters.request_metrics import RequestMetrics
from steersman.apiserver.health.checks import Check, Unhealthy, ping
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.chain import ChainOptions, build_chain
from steersman.apiserver.server.loopback import Loopback
from steersman.apiserver.server.request_log import RequestLog
from steersman.apiserver.server.routes import Routes
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.access import Authentication, Authorization
from steersman.controlplane.api_services import APIServices
from steersman.controlplane.auditing import make_auditor
from steersman.controlplane.bootstrap.default_service_cidr import bootstrap_service_cidr
from steersman.controlplane.bootstrap.flow_control import bootstrap_flow_control
from steersman.controlplane.bootstrap.priority_classes import bootstrap_priority_classes
from steersman.controlplane.bootstrap.rbac import bootstrap_roles
from steersman.controlplane.definitions import LoopbackDefinitionWriter
from steersman.controlplane.flow_control import make_flow_control
from steersman.controlplane.paths import add_about, add_discovery, add_health, add_openid
from steersman.controlplane.post_start import PostStartHooks, make_default_service_accounts, make_system_namespaces
from steersman.controlplane.resources import Resources
from steersman.controlplane.service_account_keys import ServiceAccountKeys
from steersman.controlplane.storage_metrics import StorageMetrics
from steersman.schema.resources import table
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from steersman.apiserver.observability.metrics import Family
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.loops import OwnLoops
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

    Collector = Callable[[], Awaitable[Iterable[Family]]]


class ServerCore:
    """One API server's inside. It owns ``store`` from now on. Raises ``OptionError``."""

    def __init__(
        self,
        options: APIServerOptions,
        store: Store,
        *,
        clock: Clock,
        keys: ServiceAccountKeys | None = None,
        with_loops: bool = False,
    ) -> None:
        """``with_loops``: it is to make a cluster of itself, and to hold elections; see ``loops``."""
        self.store = store
        #: Where clients reach the server, as discovery tells it.
        self.address = options.advertise_address or options.bind_address
        self._stopping = False
        #: See ``APIServer.start``; to be set before ``start``.
        self.makes_service_accounts = False
        token = secrets.token_urlsafe(32)
        in_flight = InFlight()
        metrics = RequestMetrics(in_flight)
        self._hooks = PostStartHooks()
        self.catalog = Catalog(table())
        self._clock = clock
        self._options = options
        self._authorization = Authorization(options)
        #: Of service account tokens.
        self.keys = keys or ServiceAccountKeys(None)
        authentication = Authentication(options, keys=self.keys, clock=clock, loopback_token=token)
        self.resources = Resources(
            options, store, clock=clock, authorization=self._authorization, authentication=authentication
        )
        self._auditor = make_auditor(options, clock=clock)
        self._flow_control = make_flow_control(options, self.resources.registry, clock=clock)
        self._authorization.follow(self.resources.registry)
        authentication.follow(self.resources.registry)
        self._token_uses = authentication.token_uses
        routes = Routes()
        self.app = self._make_app(self._chain_options(authentication, metrics, in_flight), routes)
        agent = f"kube-apiserver/{KUBERNETES_VERSION}"
        #: Requests as the server itself, which may do everything.
        self.client = Loopback(self.app, headers={"authorization": f"Bearer {token}", "user-agent": agent})
        #: What goes on by itself; None: nothing does.
        self.loops = self._make_loops(options, store) if with_loops else None
        namespaces = self._hooks.add("start-system-namespaces-controller", self._make_namespaces)
        self._tasks = Supervisor("control plane")
        self._custom = CustomResources(
            self.resources.registry, self.catalog, clock=clock, writer=LoopbackDefinitionWriter(self.client)
        )
        self._api_services = APIServices(self.client, self.catalog, clock=clock)
        definitions = self._hooks.add("crd-informer-synced", self._serve_custom)
        services = self._hooks.add("apiservice-registration-controller", self._register)
        bootstrap = self._bootstrap_hooks()
        if self.loops is not None:
            bootstrap += self.loops.add_hooks(self._hooks)
        checks = [Check("etcd", self._check_store), namespaces, definitions, *bootstrap, services]
        add_health(routes, checks=checks, ready_checks=self._ready_checks())
        add_about(routes, collectors=self._collectors(metrics))
        add_openid(
            routes,
            options.service_account_issuer[0],
            address=lambda: self.address,
            keys=self.keys.public_keys,
            jwks_uri=options.service_account_jwks_uri,
        )
        add_discovery(
            routes, self.catalog, custom=self._custom.schema, clock=clock, server_address=lambda: self.address
        )

    def _make_app(self, options: ChainOptions, routes: Routes) -> Application:
        return Application(
            build_chain(options, resources=self.resources.router, routes=routes),
            clock=self._clock,
            timeout_seconds=self._options.request_timeout_seconds,
            request_log=RequestLog.if_enabled(self._clock),
        )

    def _chain_options(
        self, authentication: Authentication, metrics: RequestMetrics, in_flight: InFlight
    ) -> ChainOptions:
        options, flow = self._options, self._flow_control
        return ChainOptions(
            authenticator=authentication.authenticator,
            authorizer=self._authorization.authorizer,
            metrics=metrics,
            in_flight=in_flight,
            auditor=self._auditor,
            flow_control=None if flow is None else flow.means,
            reading_max=options.max_requests_inflight,
            mutating_max=options.max_mutating_requests_inflight,
            request_timeout_seconds=options.request_timeout_seconds,
        )

    def _collectors(self, metrics: RequestMetrics) -> list[Collector]:
        """Who is asked for metrics."""
        collectors: list[Collector] = [
            metrics.collect,
            StorageMetrics(self.store, self.resources.registry).collect,
            self.app.loop_guard.collect,
        ]
        if self._auditor is not None:
            collectors.append(self._auditor.collect)
        if self._flow_control is not None:
            collectors.append(self._flow_control.metrics.collect)
        if self.loops is not None:
            collectors.append(self.loops.collect)
        return collectors

    async def start(self) -> None:
        """Run the hooks; ready when it returns. Raises what a hook raises."""
        if self._auditor is not None:
            self._auditor.start()
        self._tasks.start("last uses of tokens", self._token_uses.run(self.client))
        await self._hooks.run()
        if self.loops is not None:
            await self.loops.begin()
        self.app.loop_guard.begin_logging()

    def _make_loops(self, options: APIServerOptions, store: Store) -> OwnLoops:
        from steersman.controlplane.loops import OwnLoops  # noqa: PLC0415 — loads the client, which most tests do without

        return OwnLoops(
            self.client,
            store,
            options,
            clock=self._clock,
            reconcile_defaults=self._reconcile_defaults,
            make_default_cidr=self._make_default_cidr,
        )

    async def _make_namespaces(self) -> None:
        names = self._options.system_namespaces
        await make_system_namespaces(self.client, names)
        if self.makes_service_accounts:
            await make_default_service_accounts(self.client, names)

    async def _make_roles(self) -> None:
        await self._authorization.ready()
        if self._authorization.uses_rbac:
            await bootstrap_roles(self.client)

    async def _make_default_cidr(self) -> None:
        cidrs = [text.strip() for text in self._options.service_cluster_ip_range.split(",")]
        await bootstrap_service_cidr(self.client, cidrs, now=self._clock.now())

    async def _reconcile_defaults(self) -> None:
        """Objects that every cluster has, and that nobody watches."""
        await self._make_roles()
        await bootstrap_priority_classes(self.client)
        await bootstrap_flow_control(self.client)

    def _bootstrap_hooks(self) -> list[Check]:
        """What makes the objects that every cluster has."""
        add, client, tasks, flow = self._hooks.add, self.client, self._tasks, self._flow_control
        return [
            add("rbac/bootstrap-roles", self._make_roles),
            add("scheduling/bootstrap-system-priority-classes", lambda: bootstrap_priority_classes(client)),
            add("priority-and-fairness-config-producer", lambda: bootstrap_flow_control(client)),
            *(
                []
                if flow is None
                else [add("priority-and-fairness-config-consumer", lambda: flow.start(client, tasks))]
            ),
            add("start-kubernetes-service-cidr-controller", self._make_default_cidr),
        ]

    async def _serve_custom(self) -> None:
        """Custom resources that are defined already are served before the server is ready."""
        serving = self._tasks.start("custom resource definitions", self._custom.run())
        synced = self._tasks.start("first custom resource definitions", self._custom.synced.wait())
        await asyncio.wait([serving, synced], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            synced.cancel()
            raise RuntimeError("custom resources cannot be served") from serving.exception()

    async def _register(self) -> None:
        """Every group version that is served has its APIService."""
        await self._api_services.sync()
        self._tasks.start("API services", self._api_services.run())

    def begin_stop(self) -> None:
        """Not ready from now on, and no watch goes on; other requests are still served."""
        self._stopping = True
        self.app.end_watches()

    async def retire(self) -> None:
        """Take the own address out of the cluster, before requests are refused."""
        if self.loops is not None:
            await self.loops.retire()

    async def close(self) -> None:
        """Close loops, registry and store, when no request is left."""
        if self.loops is not None:
            await self.loops.close()
        await self._tasks.close()
        if self._auditor is not None:  # after all whose requests are recorded
            await self._auditor.close()
        await self.resources.close()
        await self.store.close()

    def _ready_checks(self) -> list[Check]:
        return [
            Check("etcd-readiness", self._check_store),
            Check("informer-sync", ping),
            Check("shutdown", self._check_shutdown),
        ]

    async def _check_store(self) -> None:
        await self.store.check_writable()

    async def _check_shutdown(self) -> None:
        if self._stopping:
            raise Unhealthy("process is shutting down")
