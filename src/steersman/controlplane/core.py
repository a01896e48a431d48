"""API server without sockets: store → registry → filter chain → application, and its hooks.

``apiserver`` adds TLS and files, tests use it directly. The composition root: the only place that selects
implementations of interfaces.
"""

from __future__ import annotations

import asyncio
import secrets
from random import Random
from typing import TYPE_CHECKING, Final

from steersman.apiserver.admission.pod_security import PodSecurity
from steersman.apiserver.aggregation.backend_openapi import AggregatedDocuments
from steersman.apiserver.aggregation.controller import Aggregator
from steersman.apiserver.crd.serving import CustomResources
from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.filters.access_metrics import AccessMetrics
from steersman.apiserver.filters.deprecated_apis import DeprecatedAPIs
from steersman.apiserver.filters.max_in_flight import InFlight
from steersman.apiserver.filters.request_metrics import RequestMetrics
from steersman.apiserver.health.checks import Check, Unhealthy
from steersman.apiserver.observability.allocator_metrics import AllocatorMetricsCollector
from steersman.apiserver.observability.condition_metrics import ConditionMetricsCollector
from steersman.apiserver.observability.conversion_metrics import ConversionMetricsCollector
from steersman.apiserver.observability.plugin_metrics import PluginMetricsCollector
from steersman.apiserver.observability.pod_security_metrics import PodSecurityMetricsCollector
from steersman.apiserver.observability.policy_metrics import PolicyMetricsCollector
from steersman.apiserver.observability.webhook_metrics import WebhookMetricsCollector
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.chain import ChainOptions, build_chain
from steersman.apiserver.server.http1.handshakes import Handshakes
from steersman.apiserver.server.loopback import Loopback
from steersman.apiserver.server.request_log import RequestLog
from steersman.apiserver.server.routes import Routes
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for
from steersman.controlplane.api_services import API_SERVICES, APIServices, LoopbackStatusWriter
from steersman.controlplane.audit_options import make_auditor
from steersman.controlplane.authentication.authentication import Authentication
from steersman.controlplane.authentication.service_account_keys import ServiceAccountKeys
from steersman.controlplane.authorization.authorization import Authorization
from steersman.controlplane.bootstrap.default_objects import FLOW_CONTROL_HOOK, NAMESPACES_HOOK, DefaultObjects
from steersman.controlplane.bootstrap.post_start_hooks import PostStartHooks
from steersman.controlplane.credential_metrics import CredentialMetrics
from steersman.controlplane.definitions import LoopbackDefinitionWriter
from steersman.controlplane.flow_control import make_flow_control
from steersman.controlplane.metric_options import metric_filter
from steersman.controlplane.paths import (
    HealthChecks,
    add_about,
    add_debug,
    add_discovery,
    add_flow_control_dumps,
    add_health,
    add_openid,
    add_zpages,
)
from steersman.controlplane.resources import Resources
from steersman.controlplane.runtime_config import served_resources
from steersman.controlplane.server_metrics import ServerMetrics
from steersman.controlplane.storage_metrics import StorageMetrics
from steersman.storage.store import Stalled
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from steersman.apiserver.http import Filter, Handler
    from steersman.apiserver.observability.metrics import Family
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authentication.external_signer import ExternalSigner
    from steersman.controlplane.authentication.service_account_keys import AccountKeys
    from steersman.controlplane.bootstrap.controller import BootstrapController
    from steersman.controlplane.bootstrap.loop_options import LoopOptions
    from steersman.controlplane.encryption import EncryptionAtRest
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

    Collector = Callable[[], Awaitable[Iterable[Family]]]


#: Name of the health check of KMS plugins. Upstream: ``kmsReloadHealthCheckName``.
KMS_CHECK: Final = "kms-providers"
_REGISTRATION: Final = "apiservice-registration-controller"
#: Hooks of upstream whose work is part of the registration of APIServices, or follows the same catalog.
_WITH_REGISTRATION: Final = (
    "start-kube-aggregator-informers",
    "aggregator-reload-proxy-client-cert",
    "kube-apiserver-autoregistration",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-discovery-controller",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
)


class ServerCore:
    """Inner part of one API server, which owns ``store``. Raises ``OptionError``."""

    def __init__(
        self,
        options: APIServerOptions,
        store: Store,
        *,
        clock: Clock,
        keys: ServiceAccountKeys | None = None,
        with_bootstrap_controller: bool = False,
        encryption: EncryptionAtRest | None = None,
        signer: ExternalSigner | None = None,
        loop_options: LoopOptions | None = None,
        filters: Sequence[Filter] = (),
        dice: Random | None = None,
    ) -> None:
        """``with_bootstrap_controller``: publish the server, run repairs and elections. ``encryption`` of ``store`` and
        ``signer`` of service account tokens are owned as well. ``loop_options``: options of the bootstrap loops. ``filters``: see
        ``ChainOptions.extra``. ``dice``: source of names, UIDs and other random choices.
        """
        self.store = store
        self._encryption, self._signer = encryption, signer
        #: Address of the server in discovery documents.
        self.address = options.advertise_address or options.bind_address
        self._is_shutting_down = self._pre_shutdown_hooks_ran = self._is_rejecting = False
        token = secrets.token_urlsafe(32)
        in_flight = InFlight()
        #: TLS handshakes of the server that serves this core.
        self.handshakes: Final = Handshakes(clock)
        metrics, self._access_metrics = RequestMetrics(in_flight), AccessMetrics()
        self._hooks = PostStartHooks()
        self.catalog = Catalog(served_resources(options))
        self._clock = clock
        self._options = options
        self._filters, self._loop_options = filters, loop_options
        self._authorization = Authorization(options, clock=clock, dice=dice)
        #: Keys of service account tokens.
        self.keys: AccountKeys = signer or keys or ServiceAccountKeys(None)
        authentication = self._authentication = Authentication(
            options, keys=self.keys, clock=clock, loopback_token=token
        )
        #: Authorities of client certificates; set before the server listens.
        self.certificate_authorities = authentication.certificate_authorities
        #: Tokens of ``--token-auth-file``.
        self.static_tokens = authentication.static_tokens
        self.resources = Resources(
            options, store, clock=clock, authorization=self._authorization, authentication=authentication, dice=dice
        )
        self._auditor = make_auditor(options, clock=clock)
        self._flow_control = make_flow_control(options, self.resources.registry, clock=clock)
        self._authorization.follow(self.resources.registry)
        authentication.follow(self.resources.registry)
        routes = Routes()
        status_writer = LoopbackStatusWriter()
        #: APIServices with a Service, and the proxy to their backends.
        self.aggregator = self._make_aggregator(status_writer)
        self.app = self._make_app(self._chain_options(metrics, in_flight), routes)
        agent = f"kube-apiserver/{KUBERNETES_VERSION}"
        #: Client as the server itself, with all permissions.
        self.client = Loopback(self.app, headers={"authorization": f"Bearer {token}", "user-agent": agent})
        status_writer.client = self.client
        #: Default objects of every cluster.
        self.defaults = DefaultObjects(self.client, options, clock=clock, authorization=self._authorization)
        #: None when disabled.
        self.bootstrap = self._make_bootstrap_controller(options, store) if with_bootstrap_controller else None
        self._tasks = Supervisor("control plane")
        self._custom = self._make_custom_resources()
        self._api_services = APIServices(
            self.client, self.catalog, stored=self.resources.registry.stored(API_SERVICES), clock=clock
        )
        self._add_post_start_hooks()
        self._add_paths(routes, self._collectors(metrics))

    def _add_paths(self, routes: Routes, collectors: Sequence[Collector]) -> None:
        """Add the non-resource paths."""
        add_health(routes, self._health_checks())
        add_about(routes, collectors=collectors, metric_filter=metric_filter(self._options))
        add_zpages(routes, self._options.reported_flags, clock=self._clock, gates=self._options.feature_gates)
        if self._options.profiling:
            add_debug(routes, on_verbosity=self.set_request_log)
        if self._flow_control is not None:
            add_flow_control_dumps(routes, self._flow_control.control, clock=self._clock)
        add_openid(
            routes,
            self._options.service_account_issuer[0],
            address=lambda: self.address,
            keys=self.keys.public_keys,
            jwks_uri=self._options.service_account_jwks_uri,
        )
        add_discovery(
            routes,
            self.catalog,
            custom=self._custom.schema,
            clock=self._clock,
            server_address=lambda: self.address,
            remote=AggregatedDocuments(self.aggregator),
            has_storage_version_hashes=self._options.feature_gates.get("StorageVersionHash", True),
        )

    def _make_aggregator(self, writer: LoopbackStatusWriter) -> Aggregator:
        return Aggregator(
            self.resources.registry,
            self.catalog,
            connections=self.resources.connections,
            put_status=writer.put,
            clock=self._clock,
            dice=Random(secrets.randbits(64)),  # noqa: S311 — it chooses endpoints
            rejects_redirects=self._options.aggregator_reject_forwarding_redirect,
        )

    def _make_app(self, options: ChainOptions, routes: Routes) -> Application:
        return Application(
            build_chain(options, resources=self._resource_handler(), routes=routes, aggregator=self.aggregator),
            clock=self._clock,
            timeout_seconds=self._options.request_timeout_seconds,
            request_log=RequestLog.if_enabled(self._clock),
            metrics=options.metrics,
            extra_headers=_hsts_headers(self._options.strict_transport_security_directives),
        )

    def _resource_handler(self) -> Handler:
        """Return the handler of resources, with the effects of feature gates."""
        gates = self._options.feature_gates
        if not gates:
            return self.resources.router
        from steersman.apiserver.filters.disabled_features import with_disabled_features  # noqa: PLC0415 — few set gates

        return with_disabled_features(self.resources.router, gates)

    def set_request_log(self) -> None:
        """Log requests if the verbosity of the log enables it."""
        self.app.request_log = RequestLog.if_enabled(self._clock)

    def _chain_options(self, metrics: RequestMetrics, in_flight: InFlight) -> ChainOptions:
        options, flow = self._options, self._flow_control
        return ChainOptions(
            authenticator=self._authentication.authenticator,
            authorizer=self._authorization.authorizer,
            authorizer_waits=self._authorization.chain.waits,
            metrics=metrics,
            access_metrics=self._access_metrics,
            in_flight=in_flight,
            auditor=self._auditor,
            flow_control=None if flow is None else flow.means,
            reading_max=options.max_requests_inflight,
            mutating_max=options.max_mutating_requests_inflight,
            request_timeout_seconds=options.request_timeout_seconds,
            is_rejecting=(lambda: self._is_rejecting) if options.shutdown_send_retry_after else None,
            offers_cbor=options.feature_gates.get("CBORServingAndStorage", False),
            goaway_chance=0.0 if options.disable_http2_serving else options.goaway_chance,
            cors_allowed_origins=options.cors_allowed_origins,
            extra=self._filters,
        )

    def _collectors(self, metrics: RequestMetrics) -> list[Collector]:
        """Return the metrics collectors."""
        collectors: list[Collector] = [
            metrics.collect,
            DeprecatedAPIs(metrics, self.catalog).collect,
            self._access_metrics.collect,
            CredentialMetrics(self._authentication, self._authorization).collect,
            *self._authorization.chain.collectors,
            ServerMetrics(self._options.feature_gates, self.handshakes, audits=self._auditor is not None).collect,
            StorageMetrics(self.store, self.resources.registry).collect,
            AllocatorMetricsCollector(self.resources.allocator_metrics, self.resources.service_allocator).collect,
            self.app.loop_guard.collect,
            PluginMetricsCollector(self.resources.plugin_metrics).collect,
            WebhookMetricsCollector(self.resources.webhook_metrics).collect,
            PolicyMetricsCollector(self.resources.policy_metrics).collect,
            ConditionMetricsCollector(self.resources.condition_metrics).collect,
            self.aggregator.metrics.collect,
            ConversionMetricsCollector(self.resources.conversions.metrics).collect,
        ]
        collectors += [
            PodSecurityMetricsCollector(plugin.metrics).collect
            for plugin in self.resources.admission.plugins
            if isinstance(plugin, PodSecurity)
        ]
        if self._auditor is not None:
            collectors.append(self._auditor.collect)
        if self._flow_control is not None:
            collectors.append(self._flow_control.metrics.collect)
        if self._authentication.webhook is not None:
            collectors.append(self._authentication.webhook.collect)
        if self._authentication.configured is not None:
            collectors.append(self._authentication.configured.collect)
        if self._signer is not None:
            collectors.append(self._signer.collect)
        if self._encryption is not None:
            collectors.append(self._encryption.collect)
        if self.bootstrap is not None:
            collectors.append(self.bootstrap.collect)
        return collectors

    async def start(self) -> None:
        """Run the post-start hooks and publish the server, which is ready when this returns. Raises a hook's error."""
        if self._auditor is not None:
            self._auditor.start()
        self._tasks.start("last uses of tokens", self._authentication.token_uses.run(self.client))
        if self._signer is not None:
            self._tasks.start("service account keys", self._signer.run())
        configured = self._authentication.configured
        if configured is not None and configured.reload is not None:
            self._tasks.start("authentication configuration", configured.reload.run())
        if (reload := self._authorization.chain.reload) is not None:
            self._tasks.start("authorization configuration", reload.run())
        await self._hooks.run()
        if self.bootstrap is not None:
            await self.bootstrap.start_loops()
        self.app.loop_guard.begin_logging()

    def _make_custom_resources(self) -> CustomResources:
        return CustomResources(
            self.resources.registry,
            self.catalog,
            clock=self._clock,
            writer=LoopbackDefinitionWriter(self.client),
            conversions=self.resources.conversions,
        )

    def _make_bootstrap_controller(self, options: APIServerOptions, store: Store) -> BootstrapController:
        # Imported here because most tests do not need the client.
        from steersman.controlplane.bootstrap.controller import BootstrapController  # noqa: PLC0415

        return BootstrapController(
            self.client,
            store,
            options,
            clock=self._clock,
            defaults=self.defaults,
            loop_options=self._loop_options,
        )

    def _add_post_start_hooks(self) -> None:
        hooks, flow_control = self._hooks, self._flow_control
        self.defaults.add_hooks(hooks)
        hooks.add("crd-informer-synced", self._serve_custom)
        for name in ("start-apiextensions-informers", "start-apiextensions-controllers"):
            hooks.add(name, after=["crd-informer-synced"])
        hooks.add("generic-apiserver-start-informers", self._authorization.ready)
        hooks.add("storage-readiness", self._store_writable)
        hooks.add("storage-object-count-tracker-hook", after=["generic-apiserver-start-informers"])
        hooks.add("start-apiserver-admission-initializer", self._namespaces_known, after=[NAMESPACES_HOOK])
        if flow_control is not None:
            hooks.add(
                "priority-and-fairness-config-consumer",
                lambda: flow_control.start(self.client, self._tasks),
                after=[FLOW_CONTROL_HOOK],
            )
            hooks.add("priority-and-fairness-filter", after=["priority-and-fairness-config-consumer"])
        else:
            hooks.add("max-in-flight-filter")
        if self.bootstrap is not None:
            self.bootstrap.add_hooks(hooks)
        # Custom resources have APIServices as well.
        hooks.add(_REGISTRATION, self._register, after=["crd-informer-synced"])
        for name in _WITH_REGISTRATION:
            hooks.add(name, after=[_REGISTRATION])

    async def _store_writable(self) -> None:
        """Wait while writes are slow, e.g. on a busy machine; a store that refuses writes ends the start."""
        deadline = self._clock.monotonic() + self._options.storage_initialization_timeout_seconds
        while True:
            try:
                return await self.store.check_writable()
            except Stalled:
                if self._clock.monotonic() >= deadline:
                    raise

    async def _namespaces_known(self) -> None:
        """Wait for the namespace cache, which every write needs; other caches of admission are filled on demand."""
        await self.resources.registry.stored("namespaces").cache.ready()

    async def _serve_custom(self) -> None:
        """Serve custom resources with existing definitions before the server is ready."""
        serving = self._tasks.start("custom resource definitions", self._custom.run())
        synced = self._tasks.start("first custom resource definitions", self._custom.synced.wait())
        await asyncio.wait([serving, synced], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            synced.cancel()
            raise RuntimeError("custom resources cannot be served") from serving.exception()

    async def _register(self) -> None:
        """Create the APIService of every served group version."""
        await self._api_services.sync()
        self._tasks.start("API services", self._api_services.run())
        following = self._tasks.start("aggregated API servers", self.aggregator.run())
        synced = self._tasks.start("first APIServices", self.aggregator.synced.wait())
        await asyncio.wait([following, synced], return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            synced.cancel()
            raise RuntimeError("APIServices cannot be followed") from following.exception()

    def begin_shutdown(self) -> None:
        """Fail ``/readyz``; all requests are still served."""
        self._is_shutting_down = True

    async def run_pre_shutdown_hooks(self) -> None:
        """Stop the bootstrap controller, which withdraws the endpoint, and wait for ``--shutdown-delay-duration``.

        All requests are served meanwhile: clients and load balancers have this time to choose another server. Idempotent.
        """
        if self._pre_shutdown_hooks_ran:
            return
        self._pre_shutdown_hooks_ran = True
        async with asyncio.TaskGroup() as group:
            if self.bootstrap is not None:
                group.create_task(self.bootstrap.stop(), name="pre-shutdown hook")
            if self._options.shutdown_delay_seconds:
                group.create_task(self._clock.sleep(self._options.shutdown_delay_seconds), name="shutdown delay")

    def reject_requests(self) -> None:
        """Answer new requests with 429 from now on, if ``--shutdown-send-retry-after`` is set."""
        self._is_rejecting = True

    def end_watches(self) -> None:
        """End open and future watches; other requests are still served."""
        self.app.end_watches()

    async def drain_watches(self) -> None:
        """End open watches in ``--shutdown-watch-termination-grace-period``, and future ones; other requests are served."""
        await self.app.drain_watches(self._options.shutdown_watch_termination_grace_period_seconds)

    async def close(self) -> None:
        """Close bootstrap controller, registry and store, after the last request."""
        if self.bootstrap is not None:
            await self.bootstrap.close()
        await self._tasks.close()
        if self._authentication.webhook is not None:
            await self._authentication.webhook.close()
        if self._auditor is not None:  # after all components whose requests are recorded
            await self._auditor.close()
        await self.resources.close()
        await self._authorization.chain.close()
        await self.store.close()
        if self._signer is not None:
            await self._signer.close()
        if self._encryption is not None:
            await self._encryption.close()

    def _health_checks(self) -> HealthChecks:
        encryption = self._encryption
        return HealthChecks(
            storage=[Check("etcd", lambda: self._check_store(self._options.etcd_healthcheck_timeout_seconds))],
            encryption=[Check(KMS_CHECK, encryption.check)] if encryption is not None and encryption.has_check else [],
            hooks=[*self._hooks.checks, Check("autoregister-completion", self._hooks.probe_of(_REGISTRATION))],
            ready=[
                Check("etcd-readiness", lambda: self._check_store(self._options.etcd_readycheck_timeout_seconds)),
                Check("informer-sync", self._check_caches),
            ],
            shutdown=[Check("shutdown", self._check_shutdown)],
        )

    async def _check_caches(self) -> None:
        if not self._authorization.is_ready or not self._custom.synced.is_set():
            raise Unhealthy("caches are being filled")

    async def _check_store(self, timeout_seconds: float) -> None:
        # the embedded stores have their own bounds
        seconds = timeout_seconds if self.store.is_shared else None
        try:
            await wait_for(self.store.check_writable(), seconds, clock=self._clock)
        except TimeoutError as error:
            raise Unhealthy("error getting data from etcd: context deadline exceeded") from error

    async def _check_shutdown(self) -> None:
        if self._is_shutting_down:
            raise Unhealthy("process is shutting down")


def _hsts_headers(directives: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """Return the header of HTTP Strict Transport Security, if there are directives. Upstream: ``WithHSTS``."""
    return [(b"strict-transport-security", "; ".join(directives).encode())] if directives else []
