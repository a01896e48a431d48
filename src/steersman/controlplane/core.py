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
from steersman.apiserver.endpoints.health import Check, Unhealthy, ping
from steersman.apiserver.filters.fairness import InFlight
from steersman.apiserver.filters.request_metrics import RequestMetrics
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.chain import ChainOptions, build_chain
from steersman.apiserver.server.loopback import Loopback
from steersman.apiserver.server.routes import Routes
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.access import Authentication, Authorization
from steersman.controlplane.api_services import APIServices
from steersman.controlplane.bootstrap_flowcontrol import bootstrap_flow_control
from steersman.controlplane.bootstrap_objects import bootstrap_priority_classes, bootstrap_service_cidr
from steersman.controlplane.bootstrap_rbac import bootstrap_roles
from steersman.controlplane.definitions import LoopbackDefinitionWriter
from steersman.controlplane.paths import add_about, add_discovery, add_health, add_openid
from steersman.controlplane.post_start import PostStartHooks, make_system_namespaces
from steersman.controlplane.resources import Resources
from steersman.controlplane.service_account_keys import ServiceAccountKeys
from steersman.controlplane.storage_metrics import StorageMetrics
from steersman.schema.resources import table
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store


class ServerCore:
    """One API server's inside. It owns ``store`` from now on. Raises ``OptionError``."""

    def __init__(
        self, options: APIServerOptions, store: Store, *, clock: Clock, keys: ServiceAccountKeys | None = None
    ) -> None:
        self.store = store
        #: Where clients reach the server, as discovery tells it.
        self.address = options.advertise_address or options.bind_address
        self._stopping = False
        token = secrets.token_urlsafe(32)
        in_flight = InFlight()
        metrics = RequestMetrics(in_flight)
        self._hooks = PostStartHooks()
        self.catalog = Catalog(table())
        self._clock = clock
        self._options = options
        self._authorization = Authorization(options)
        authorizer = self._authorization.authorizer
        #: Of service account tokens.
        self.keys = keys or ServiceAccountKeys(None)
        authentication = Authentication(options, keys=self.keys, clock=clock, loopback_token=token)
        self.resources = Resources(
            options, store, clock=clock, authorization=self._authorization, authentication=authentication
        )
        self._authorization.follow(self.resources.registry)
        authentication.follow(self.resources.registry)
        chain_options = ChainOptions(
            authenticator=authentication.authenticator,
            authorizer=authorizer,
            metrics=metrics,
            in_flight=in_flight,
            reading_max=options.max_requests_inflight,
            mutating_max=options.max_mutating_requests_inflight,
            request_timeout_seconds=options.request_timeout_seconds,
        )
        routes = Routes()
        self.app = Application(
            build_chain(chain_options, resources=self.resources.router, routes=routes),
            clock=clock,
            timeout_seconds=options.request_timeout_seconds,
        )
        agent = f"kube-apiserver/{KUBERNETES_VERSION}"
        #: Requests as the server itself, which may do everything.
        self.client = Loopback(self.app, headers={"authorization": f"Bearer {token}", "user-agent": agent})
        namespaces = self._hooks.add("start-system-namespaces-controller", lambda: make_system_namespaces(self.client))
        self._tasks = Supervisor("control plane")
        self._custom = CustomResources(
            self.resources.registry, self.catalog, clock=clock, writer=LoopbackDefinitionWriter(self.client)
        )
        self._api_services = APIServices(self.client, self.catalog, clock=clock)
        definitions = self._hooks.add("crd-informer-synced", self._serve_custom)
        services = self._hooks.add("apiservice-registration-controller", self._register)
        bootstrap = self._bootstrap_hooks()
        checks = [Check("etcd", self._check_store), namespaces, definitions, *bootstrap, services]
        add_health(routes, checks=checks, ready_checks=self._ready_checks())
        add_about(routes, collectors=[metrics.collect, StorageMetrics(store, self.resources.registry).collect])
        add_openid(
            routes,
            options.service_account_issuer[0],
            address=lambda: self.address,
            keys=self.keys.public_keys,
            jwks_uri=options.service_account_jwks_uri,
        )
        add_discovery(routes, self.catalog, custom=self._custom.schema, server_address=lambda: self.address)

    async def start(self) -> None:
        """Run the hooks; ready when it returns. Raises what a hook raises."""
        await self._hooks.run()

    def _bootstrap_hooks(self) -> list[Check]:
        """What makes the objects that every cluster has."""
        add, client = self._hooks.add, self.client
        cidrs = self._options.service_cluster_ip_range.split(",")

        async def roles() -> None:
            await self._authorization.ready()
            if self._authorization.uses_rbac:
                await bootstrap_roles(client)

        return [
            add("rbac/bootstrap-roles", roles),
            add("scheduling/bootstrap-system-priority-classes", lambda: bootstrap_priority_classes(client)),
            add("priority-and-fairness-config-producer", lambda: bootstrap_flow_control(client)),
            add(
                "start-kubernetes-service-cidr-controller",
                lambda: bootstrap_service_cidr(client, cidrs, now=self._clock.now()),
            ),
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

    async def close(self) -> None:
        """Close loops, registry and store, when no request is left."""
        await self._tasks.close()
        await self.resources.close()
        await self.store.close()

    def _ready_checks(self) -> list[Check]:
        return [
            Check("etcd-readiness", self._check_store),
            Check("informer-sync", ping),
            Check("shutdown", self._check_shutdown),
        ]

    async def _check_store(self) -> None:
        await self.store.current_revision()

    async def _check_shutdown(self) -> None:
        if self._stopping:
            raise Unhealthy("process is shutting down")
