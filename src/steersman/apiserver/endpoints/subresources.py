"""Table of the endpoints of subresources of other kinds, and of resources without storage."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from steersman.apiserver.endpoints.binding import binding_endpoints
from steersman.apiserver.endpoints.component_statuses import component_endpoints
from steersman.apiserver.endpoints.connecting import Connecter
from steersman.apiserver.endpoints.eviction import eviction_endpoints
from steersman.apiserver.endpoints.pod_streams import log_endpoints, stream_endpoints
from steersman.apiserver.endpoints.proxy import locate_node, locate_pod, locate_service, proxy_endpoints
from steersman.apiserver.generic.served import ServedResource
from steersman.apiserver.health.component_probes import Components
from steersman.apiserver.kinds.core.componentstatus import ComponentStatusStrategy
from steersman.apiserver.proxying.connections import Connections
from steersman.schema.loader import struct

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.strategy import Strategy
    from steersman.apiserver.http import Request, Response
    from steersman.schema.resources import Resource

    Endpoints = Mapping[str, Callable[[Request], Awaitable[Response]]]
    Connect = Callable[[Resource, ServedResource | None], Endpoints]


def subresources(
    registry: Registry,
    *,
    admission: AdmissionChain,
    authorizer: Authorizer,
    connections: Connections | None = None,
    components: Components | None = None,
) -> dict[tuple[str, str], Connect]:
    """Return the endpoints by group resource and subresource, as ``Router`` takes them; each is created on first use.

    Without ``connections`` nodes and pods cannot be reached; without ``components`` the default ports are probed.
    """
    probed = Components(registry.store) if components is None else components
    ways = Connections(registry.clock) if connections is None else connections

    def served(name: str, group: str = "") -> ServedResource:
        resource = registry.get(group, "v1", name)
        if resource is None:
            raise KeyError(name)
        return resource

    def connecter(resource: Resource, subresource: str) -> Connecter:
        kind = next(declared.kind for declared in resource.subresources if declared.name == subresource)
        return Connecter(served(resource.name), admission=admission, subresource=subresource, kind=kind)

    def bindings(resource: Resource, _: ServedResource | None) -> Endpoints:
        return binding_endpoints(served("pods"), resource, admission=admission, authorizer=authorizer)

    def evictions(_: Resource, __: ServedResource | None) -> Endpoints:
        budgets = served("poddisruptionbudgets", "policy")
        return eviction_endpoints(served("pods"), budgets, admission=admission, authorizer=authorizer)

    def logs(_: Resource, __: ServedResource | None) -> Endpoints:
        return log_endpoints(served("pods"), served("nodes"), ways)

    def streams(subresource: str, resource: Resource, _: ServedResource | None) -> Endpoints:
        return stream_endpoints(connecter(resource, subresource), served("nodes"), ways)

    def pod_proxies(resource: Resource, _: ServedResource | None) -> Endpoints:
        return proxy_endpoints(connecter(resource, "proxy"), partial(locate_pod, served("nodes")), ways)

    def service_proxies(resource: Resource, _: ServedResource | None) -> Endpoints:
        locate = partial(locate_service, served("pods"), served("nodes"), served("endpoints"))
        return proxy_endpoints(connecter(resource, "proxy"), locate, ways)

    def node_proxies(resource: Resource, _: ServedResource | None) -> Endpoints:
        locate = partial(locate_node, served("nodes"), address_types=ways.address_types)
        return proxy_endpoints(connecter(resource, "proxy"), locate, ways)

    def component_statuses(resource: Resource, _: ServedResource | None) -> Endpoints:
        return component_endpoints(served_without_storage(registry, resource, ComponentStatusStrategy()), probed)

    return {
        ("bindings", ""): bindings,
        ("componentstatuses", ""): component_statuses,
        ("pods", "binding"): bindings,
        ("pods", "eviction"): evictions,
        ("pods", "log"): logs,
        ("pods", "exec"): partial(streams, "exec"),
        ("pods", "attach"): partial(streams, "attach"),
        ("pods", "portforward"): partial(streams, "portforward"),
        ("pods", "proxy"): pod_proxies,
        ("services", "proxy"): service_proxies,
        ("nodes", "proxy"): node_proxies,
    }


def served_without_storage(registry: Registry, resource: Resource, strategy: Strategy) -> ServedResource:
    """Return a resource whose objects are computed on request; its cache stays empty."""
    stored = registry.create_stored(resource, strategy)
    return ServedResource(
        resource,
        storage=stored.objects,
        cache=stored.cache,
        strategy=stored.strategy,
        struct=struct(resource.definition),
    )
