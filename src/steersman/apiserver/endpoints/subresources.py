"""What answers for subresources that are no plain objects, and for resources that keep nothing: one list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.endpoints.binding import binding_endpoints
from steersman.apiserver.endpoints.eviction import eviction_endpoints

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.registry.registry import Registry
    from steersman.apiserver.registry.served import ServedResource
    from steersman.schema.resources import Resource

    Endpoints = Mapping[str, Callable[[Request], Awaitable[Response]]]
    Connect = Callable[[Resource, ServedResource | None], Endpoints]


def subresources(
    registry: Registry, *, admission: AdmissionChain, authorizer: Authorizer
) -> dict[tuple[str, str], Connect]:
    """By group resource and subresource, as ``Router`` takes them. Each is made when it is first asked for."""

    def kept(name: str, group: str = "") -> ServedResource:
        served = registry.get(group, "v1", name)
        if served is None:
            raise KeyError(name)
        return served

    def bindings(resource: Resource, _: ServedResource | None) -> Endpoints:
        return binding_endpoints(kept("pods"), resource, admission=admission, authorizer=authorizer)

    def evictions(_: Resource, __: ServedResource | None) -> Endpoints:
        budgets = kept("poddisruptionbudgets", "policy")
        return eviction_endpoints(kept("pods"), budgets, admission=admission, authorizer=authorizer)

    return {("pods", "binding"): bindings, ("bindings", ""): bindings, ("pods", "eviction"): evictions}
