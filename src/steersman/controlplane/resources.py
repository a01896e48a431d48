"""Handling of resource requests: registry over a store, admission, and router."""

from __future__ import annotations

from functools import cache
from ipaddress import ip_network
from random import Random
from typing import TYPE_CHECKING, Final

from steersman.apiserver.admission.builtin import default_plugins
from steersman.apiserver.admission.chain import ORDER, AdmissionChain
from steersman.apiserver.admission.condition_metrics import ConditionMetrics
from steersman.apiserver.admission.mutating_policy import MutatingAdmissionPolicy
from steersman.apiserver.admission.mutating_webhook import MutatingAdmissionWebhook
from steersman.apiserver.admission.optional import optional_plugins
from steersman.apiserver.admission.plugin_metrics import PluginMetrics
from steersman.apiserver.admission.policy_metrics import PolicyMetrics
from steersman.apiserver.admission.validating_policy import ValidatingAdmissionPolicy
from steersman.apiserver.admission.validating_webhook import ValidatingAdmissionWebhook
from steersman.apiserver.admission.webhook_calls import WebhookServices
from steersman.apiserver.admission.webhook_metrics import WebhookMetrics
from steersman.apiserver.crd.conversion_webhook import ConversionServices
from steersman.apiserver.endpoints.router import Router
from steersman.apiserver.endpoints.subresources import subresources
from steersman.apiserver.endpoints.unsafe_delete import FEATURE_GATE
from steersman.apiserver.generic.registry import Registry
from steersman.apiserver.health.component_probes import Components
from steersman.apiserver.kinds.catalog import BuiltInKinds
from steersman.apiserver.kinds.core.service.allocator_metrics import AllocatorMetrics
from steersman.apiserver.proxying.connections import Connections
from steersman.apiserver.webhooks.client import WebhookClients
from steersman.apiserver.webhooks.services import StoredServices
from steersman.asynckit.tasks import Supervisor
from steersman.controlplane.access_endpoints import access_endpoints
from steersman.controlplane.admission_configuration import read_admission_configuration
from steersman.controlplane.options import OptionError
from steersman.controlplane.plugin_webhooks import PluginWebhooks
from steersman.controlplane.runtime_config import served_resources

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.admission.interface import Plugin
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.strategy import Strategy
    from steersman.apiserver.kinds.core.service.allocation import ServiceAllocator
    from steersman.apiserver.kinds.resource.shared.admin_access import NamespaceLabels
    from steersman.asynckit.clock import Clock
    from steersman.controlplane.authentication.authentication import Authentication
    from steersman.controlplane.authorization.authorization import Authorization
    from steersman.controlplane.kubeconfig_webhook import KubeconfigWebhook
    from steersman.controlplane.options import APIServerOptions
    from steersman.storage.store import Store

#: Prefixes of frequently overwritten heartbeats; the store keeps no history of them.
HEARTBEAT_PREFIXES: Final = ("/registry/leases/kube-node-lease/",)

#: Admission plugins of feature gates that are on by default.
_GATED_PLUGINS: Final = {
    "MutatingAdmissionPolicy": "MutatingAdmissionPolicy",
    "PodTopologyLabelsAdmission": "PodTopologyLabels",
}


class Resources:
    """Registry, admission and router of one API server."""

    def __init__(
        self,
        options: APIServerOptions,
        store: Store,
        *,
        clock: Clock,
        authorization: Authorization,
        authentication: Authentication,
        dice: Random | None = None,
    ) -> None:
        """Raise ``OptionError``."""
        authorizer = authorization.authorizer
        self._tasks = Supervisor("registry")
        dice = dice or Random()  # noqa: S311 — names and choices that others may guess
        self.allocator_metrics = AllocatorMetrics()
        #: Returns the allocator of Services, whose module is imported with the first call.
        self.service_allocator = _service_allocator(options, store, dice, self.allocator_metrics)
        self.registry = Registry(
            store,
            clock=clock,
            tasks=self._tasks,
            dice=dice,
            resources=served_resources(options).resources,
            remote=store.is_shared,
            kinds=self._kinds(options, authorization),
            min_request_timeout_seconds=options.min_request_timeout_seconds,
            storage_media_type=options.stored_media_type,
        )
        services = StoredServices(lambda name: self.registry.stored(name).cache, dice=dice)
        #: HTTPS clients of admission and conversion webhooks.
        self.webhook_clients = WebhookClients(services, clock=clock)
        self.condition_metrics = ConditionMetrics()
        self.webhook_metrics = WebhookMetrics(self.condition_metrics)
        self.policy_metrics = PolicyMetrics(self.condition_metrics)
        self.conversions = ConversionServices(self.webhook_clients, clock=clock, dice=dice)
        self._plugin_webhooks: Final = PluginWebhooks(clock=clock, dice=dice)
        self.plugin_metrics = PluginMetrics()
        self.admission = AdmissionChain(self._plugins(options, authorizer, dice), metrics=self.plugin_metrics)
        #: Connections to kubelets, pods and services; enabled by a certificate.
        self.connections = Connections(clock, address_types=options.kubelet_preferred_address_types)
        #: Probes of the other components; upstream's ports by default.
        self.components = Components(store)
        connect = subresources(
            self.registry,
            admission=self.admission,
            authorizer=authorizer,
            connections=self.connections,
            components=self.components,
        )
        connect |= access_endpoints(
            self.registry, options, admission=self.admission, authorizer=authorizer, authentication=authentication
        )
        self.router = Router(
            self.registry,
            admission=self.admission,
            authorizer=authorizer,
            connect=connect,
            deletes_corrupt=options.feature_gates.get(FEATURE_GATE, False),
        )

    def _plugins(self, options: APIServerOptions, authorizer: Authorizer, dice: Random) -> list[Plugin]:
        """Return the enabled admission plugins."""
        webhooks = WebhookServices(
            self.registry,
            authorizer=authorizer,
            clients=self.webhook_clients,
            dice=dice,
            metrics=self.webhook_metrics,
        )
        return _plugins(
            options,
            self.registry,
            authorizer,
            dice,
            webhooks=webhooks,
            policy_metrics=self.policy_metrics,
            open_webhook=self._plugin_webhooks.open,
        )

    def _kinds(self, options: APIServerOptions, authorization: Authorization) -> BuiltInKinds:
        own = _strategies(
            options,
            allocator=self.service_allocator,
            labels_of=self._labels_of,
            authorizer=authorization.authorizer,
        )
        return BuiltInKinds(
            {**own, **authorization.strategies()},
            event_ttl_seconds=int(options.event_ttl_seconds),
            gates=options.feature_gates,
        )

    def _labels_of(self, namespace: str) -> dict[str, str] | None:
        """Return the labels of a cached namespace; None if it does not exist."""
        cache = self.registry.stored("namespaces").cache
        entry = cache.get(cache.key("", namespace))
        return None if entry is None else entry.tree()["metadata"].get("labels") or {}

    async def close(self) -> None:
        """Close the remaining watches, webhooks, and the tasks of caches."""
        self.registry.close()
        self.webhook_clients.close()
        await self._plugin_webhooks.close()
        await self._tasks.close()


def _service_allocator(
    options: APIServerOptions, store: Store, dice: Random, metrics: AllocatorMetrics
) -> Callable[[], ServiceAllocator]:
    """Return a function that returns the one allocator of cluster IPs and node ports. Raises ``OptionError``."""
    try:
        networks = [ip_network(text.strip()) for text in options.service_cluster_ip_range.split(",")]
    except ValueError as error:
        raise OptionError(f"--service-cluster-ip-range: {error}") from error

    @cache
    def allocator() -> ServiceAllocator:
        from steersman.apiserver.kinds.core.service.allocation import ServiceAllocator  # noqa: PLC0415
        from steersman.apiserver.kinds.shared.allocation import PortRange  # noqa: PLC0415

        return ServiceAllocator(
            store,
            networks=networks,
            ports=PortRange(*options.service_node_port_range),
            dice=dice,
            media_type=options.stored_media_type,
            metrics=metrics,
        )

    return allocator


def _strategies(
    options: APIServerOptions,
    *,
    allocator: Callable[[], ServiceAllocator],
    labels_of: NamespaceLabels,
    authorizer: Authorizer,
) -> dict[str, Callable[[], Strategy]]:
    """Return factories of strategies with dependencies. Modules are imported with the first use of a kind."""

    def services() -> Strategy:
        from steersman.apiserver.kinds.core.service.strategy import ServiceStrategy  # noqa: PLC0415

        return ServiceStrategy(allocator())

    def claims() -> Strategy:
        from steersman.apiserver.authz.claim_writers import ClaimWriters  # noqa: PLC0415
        from steersman.apiserver.kinds.resource.resourceclaim.strategy import ResourceClaimStrategy  # noqa: PLC0415

        return ResourceClaimStrategy(labels_of, ClaimWriters(authorizer))

    def templates() -> Strategy:
        from steersman.apiserver.kinds.resource.resourceclaimtemplate import (  # noqa: PLC0415
            ResourceClaimTemplateStrategy,
        )

        return ResourceClaimTemplateStrategy(labels_of)

    def stateful_sets() -> Strategy:
        from steersman.apiserver.kinds.apps.statefulset.strategy import StatefulSetStrategy  # noqa: PLC0415

        return StatefulSetStrategy(has_max_unavailable=options.feature_gates.get("MaxUnavailableStatefulSet", False))

    def leases() -> Strategy:
        from steersman.apiserver.kinds.coordination.lease.strategy import LeaseStrategy  # noqa: PLC0415

        return LeaseStrategy(has_coordination=options.feature_gates.get("CoordinatedLeaderElection", True))

    return {
        "services": services,
        "leases.coordination.k8s.io": leases,
        "statefulsets.apps": stateful_sets,
        "resourceclaims.resource.k8s.io": claims,
        "resourceclaimtemplates.resource.k8s.io": templates,
    }


def _plugins(
    options: APIServerOptions,
    registry: Registry,
    authorizer: Authorizer,
    dice: Random,
    *,
    webhooks: WebhookServices,
    policy_metrics: PolicyMetrics,
    open_webhook: Callable[[str, float], KubeconfigWebhook],
) -> list[Plugin]:
    """Return the enabled admission plugins."""
    configurations = read_admission_configuration(options.admission_control_config_file)
    try:
        defaults = default_plugins(
            registry.stored,
            authorizer=authorizer,
            dice=dice,
            configurations=configurations,
            tolerations=(options.default_not_ready_toleration_seconds, options.default_unreachable_toleration_seconds),
        )
    except ValueError as error:
        raise OptionError(f"--admission-control-config-file: {error}") from error
    plugins = (
        *defaults,
        MutatingAdmissionPolicy(registry, authorizer=authorizer, metrics=policy_metrics),
        MutatingAdmissionWebhook(webhooks),
        ValidatingAdmissionPolicy(registry, authorizer=authorizer, metrics=policy_metrics),
        ValidatingAdmissionWebhook(webhooks),
    )
    optional = optional_plugins(
        registry, authorizer=authorizer, configurations=configurations, open_webhook=open_webhook
    )
    available = {plugin.name for plugin in plugins} | optional.keys()
    enabled, disabled = set(options.enable_admission_plugins), set(options.disable_admission_plugins)
    if options.admission_control:
        enabled, disabled = set(options.admission_control), set(ORDER) - set(options.admission_control)
    disabled |= {name for gate, name in _GATED_PLUGINS.items() if not options.feature_gates.get(gate, True)}
    for flag, names in (("enable", enabled - available), ("disable", disabled - set(ORDER))):
        if names:
            from difflib import get_close_matches  # noqa: PLC0415 — only a wrong name needs it

            name = min(names)
            nearest = get_close_matches(name, available, n=1)
            hint = f"; did you mean {nearest[0]}?" if nearest else ""
            raise OptionError(f'--{flag}-admission-plugins: plugin "{name}" is unknown{hint}')
    if both := enabled & disabled:
        overlap = ", ".join(sorted(both))
        raise OptionError(f"--enable-admission-plugins and --disable-admission-plugins overlap: {overlap}")
    try:
        enabled_plugins = [optional[name]() for name in ORDER if name in enabled and name in optional]
    except ValueError as error:
        raise OptionError(f"--admission-control-config-file: {error}") from error
    return [plugin for plugin in [*plugins, *enabled_plugins] if plugin.name not in disabled]
