"""Properties of a Service that concern its endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.names import check_dns1123_subdomain
from steersman.client.changes import Updated
from steersman.client.objects import key_of, labels_of, namespace_of
from steersman.controllers.endpoints.pods import endpoint_attributes

if TYPE_CHECKING:
    from lightkube.models.core_v1 import Pod, Service

    from steersman.client.changes import Change
    from steersman.client.store import Lister

SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
HEADLESS: Final = "service.kubernetes.io/headless"
TRIGGER_TIME: Final = "endpoints.kubernetes.io/last-change-trigger-time"
#: Annotation of Endpoints that are a leader election lock.
LEADER: Final = "control-plane.alpha.kubernetes.io/leader"

_NONE: Final = "None"


def has_endpoints(service: Service) -> bool:
    """Report whether controllers manage the endpoints of a Service."""
    spec = service.spec
    return spec is not None and spec.type != "ExternalName" and bool(spec.selector)


def selects(service: Service, pod: Pod) -> bool:
    """Report whether the Service selects the pod."""
    selector = service.spec.selector if service.spec else None
    return bool(selector) and (selector or {}).items() <= labels_of(pod).items()


def service_keys(services: Lister[Service], pod: Pod) -> list[str]:
    """Return the keys of the Services that select the pod."""
    return [key_of(service) for service in services.list(namespace=namespace_of(pod)) if selects(service, pod)]


def touched_keys(services: Lister[Service], change: Change[Pod]) -> list[str]:
    """Return the keys of the Services whose endpoints a pod event affects."""
    keys = service_keys(services, change.latest)
    if not isinstance(change, Updated):
        return keys
    if labels_of(change.old) != labels_of(change.new):
        keys = list(dict.fromkeys(keys + service_keys(services, change.old)))
    return keys if keys and endpoint_attributes(change.old) != endpoint_attributes(change.new) else []


def is_headless(service: Service) -> bool:
    """Report whether the Service has no cluster IP."""
    return service.spec is None or service.spec.clusterIP in (None, "", _NONE)


def may_lack_ports(service: Service) -> bool:
    """Report whether endpoints may have no ports, as for headless Services."""
    return service.spec is not None and service.spec.clusterIP == _NONE


def families(service: Service) -> list[str]:
    """Return the IP families of a Service; without ``ipFamilies`` that of its cluster IP, or both."""
    spec = service.spec
    if spec is not None and spec.ipFamilies:
        return list(spec.ipFamilies)
    address = (spec.clusterIP if spec is not None else None) or ""
    if not address or address == _NONE:
        return ["IPv4", "IPv6"]
    return ["IPv6" if ":" in address else "IPv4"]


def slice_name_prefix(name: str) -> str:
    """Return ``generateName`` of slices."""
    prefix = f"{name}-"
    return name if check_dns1123_subdomain(prefix[:-1] + "a") else prefix
