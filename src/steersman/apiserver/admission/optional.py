"""Built-in plugins that are enabled by ``--enable-admission-plugins`` only."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.image_policy import ReviewWebhook
    from steersman.apiserver.admission.interface import Plugin
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.watch_cache import WatchCache


#: Modules of plugins without dependencies.
_PLAIN: Final = {
    "AlwaysAdmit": "always",
    "AlwaysDeny": "always",
    "AlwaysPullImages": "always_pull_images",
    "DenyServiceExternalIPs": "external_ips",
    "ExtendedResourceToleration": "extended_resource_toleration",
    "LimitPodHardAntiAffinityTopology": "anti_affinity_topology",
}
#: Modules of plugins that depend on namespaces and a configuration.
_BY_NAMESPACE: Final = {
    "PodNodeSelector": "pod_node_selector",
    "PodTolerationRestriction": "pod_toleration_restriction",
}


def optional_plugins(
    registry: Registry,
    *,
    authorizer: Authorizer,
    configurations: Mapping[str, Tree] | None = None,
    open_webhook: Callable[[str, float], ReviewWebhook] | None = None,
) -> Mapping[str, Callable[[], Plugin]]:
    """Return the plugins' factories by name, which raise ValueError for an invalid configuration. Modules are imported
    lazily. ``open_webhook``: see ``ImagePolicyWebhook``.
    """
    plugin_configurations = configurations or {}
    stored = registry.stored

    def cache_of(group_resource: str) -> WatchCache:
        return stored(group_resource).cache

    def by_namespace(name: str) -> Plugin:
        return _make(name, _BY_NAMESPACE[name], cache_of("namespaces"), plugin_configurations.get(name))

    return {
        **{name: partial(_make, name, module) for name, module in _PLAIN.items()},
        **{name: partial(by_namespace, name) for name in _BY_NAMESPACE},
        "EventRateLimit": (
            lambda: _make(
                "EventRateLimit",
                "event_rate_limit",
                plugin_configurations.get("EventRateLimit") or {},
                clock=registry.clock,
            )
        ),
        "ClusterTrustBundleAttest": partial(_make, "ClusterTrustBundleAttest", "certificates", authorizer),
        "ImagePolicyWebhook": (
            lambda: _make(
                "ImagePolicyWebhook",
                "image_policy",
                plugin_configurations.get("ImagePolicyWebhook"),
                clock=registry.clock,
                open_webhook=open_webhook,
            )
        ),
        "NamespaceAutoProvision": (
            lambda: _make("NamespaceAutoProvision", "namespace_existence", stored("namespaces"))
        ),
        "NamespaceExists": lambda: _make("NamespaceExists", "namespace_existence", cache_of("namespaces")),
        "NodeRestriction": (lambda: _make("NodeRestriction", "node_restriction", cache_of, authorizer=authorizer)),
        "OwnerReferencesPermissionEnforcement": partial(
            _make, "OwnerReferencesPermissionEnforcement", "owner_references", authorizer, registry.of_kind
        ),
    }


def _make(name: str, module: str, /, *needed: Any, **more: Any) -> Plugin:
    plugin: Plugin = getattr(import_module(f"steersman.apiserver.admission.{module}"), name)(*needed, **more)
    return plugin
