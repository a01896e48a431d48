"""Conditions ``Available`` of APIServices, as pure functions.

Upstream: ``kube-aggregator/pkg/controllers/status/remote/remote_available_controller.go`` and ``…/local``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.gotext import quote
from steersman.apiserver.webhooks.services import find_service_port, slice_addresses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree

DEFAULT_PORT: Final = 443


class Availability(msgspec.Struct, frozen=True):
    """Outcome of a check."""

    is_available: bool
    reason: str
    message: str


LOCAL: Final = Availability(True, "Local", "Local APIServices are always available")
PASSED: Final = Availability(True, "Passed", "all checks passed")


def failed_discovery(message: str) -> Availability:
    """Return the outcome of a failed request for the discovery document of a backend."""
    return Availability(False, "FailedDiscoveryCheck", message)


def check_service(reference: Tree, service: Tree | None, slices: Sequence[Tree]) -> Availability | None:
    """Return what makes the Service of an APIService unusable; None if its backend can be probed.

    ``reference`` is ``spec.service``. Only Services of type ClusterIP are checked for ports and endpoints.
    """
    name = f"service/{reference['name']} in {quote(reference['namespace'])}"
    if service is None:
        return Availability(False, "ServiceNotFound", f"{name} is not present")
    if ((service.get("spec") or {}).get("type") or "ClusterIP") != "ClusterIP":
        return None
    port = reference.get("port") or DEFAULT_PORT
    try:
        port_name = find_service_port(service.get("spec") or {}, reference["name"], port)
    except StatusError:
        return Availability(False, "ServicePortError", f"{name} is not listening on port {port}")
    if not slices:
        return Availability(False, "EndpointsNotFound", f"cannot find endpointslices for {name}")
    if not any(slice_addresses(slices, port_name)):
        message = f"endpointslices for {name} have no addresses with port name {quote(port_name)}"
        return Availability(False, "MissingEndpoints", message)
    return None


def available_condition(api_service: Tree) -> Tree | None:
    """Return the condition ``Available`` of an APIService."""
    for condition in (api_service.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Available":
            return dict(condition)
    return None


def is_available(api_service: Tree) -> bool:
    """Report whether the condition ``Available`` is true."""
    condition = available_condition(api_service)
    return condition is not None and condition.get("status") == "True"


def plan_status(api_service: Tree, availability: Availability, *, now: str) -> Tree | None:
    """Return the status with the outcome as its condition; None if the condition is up to date."""
    old = available_condition(api_service)
    status = "True" if availability.is_available else "False"
    condition = {
        "type": "Available",
        "status": status,
        "lastTransitionTime": old["lastTransitionTime"] if old and old.get("status") == status else now,
        "reason": availability.reason,
        "message": availability.message,
    }
    if condition == old:
        return None
    rest = (api_service.get("status") or {}).get("conditions") or ()
    return {"conditions": [*(existing for existing in rest if existing.get("type") != "Available"), condition]}
