"""What answers for subresources that are no plain objects, and for resources that keep nothing: one list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.endpoints.binding import binding_endpoints

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

    def pods() -> Any:
        return registry.get("", "v1", "pods")

    def bindings(resource: Resource, _: ServedResource | None) -> Endpoints:
        return binding_endpoints(pods(), resource, admission=admission, authorizer=authorizer)

    return {("pods", "binding"): bindings, ("bindings", ""): bindings}
