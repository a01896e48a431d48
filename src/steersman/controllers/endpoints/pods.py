"""What makes a pod an endpoint. Rules of ``k8s.io/endpointslice/util``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightkube.models.core_v1 import ObjectReference

from steersman.client.objects import labels_of, metadata_field, name_of, namespace_of, uid_of
from steersman.workloads.pods import is_finished, is_ready, node_of

if TYPE_CHECKING:
    from lightkube.models.core_v1 import Pod, Service, ServicePort


def may_be_endpoint(pod: Pod, *, terminating: bool) -> bool:
    """Whether it has an address and has not ended; ``terminating``: one that is being deleted may, too."""
    if is_finished(pod) or not addresses_of(pod):
        return False
    return terminating or not is_deleted(pod)


def is_deleted(pod: Pod) -> bool:
    """Whether it is being deleted."""
    return metadata_field(pod, "deletionTimestamp") is not None


def addresses_of(pod: Pod) -> list[str]:
    """All its addresses."""
    if pod.status is None:
        return []
    many = [each.ip for each in pod.status.podIPs or () if each.ip]
    return many or ([pod.status.podIP] if pod.status.podIP else [])


def address_of(pod: Pod, family: str) -> str:
    """Its first address of ``IPv4`` or ``IPv6``; empty where it has none."""
    wants_colon = family == "IPv6"
    return next((address for address in addresses_of(pod) if (":" in address) is wants_colon), "")


def hostname_of(pod: Pod, service: Service) -> str | None:
    """Its name below the Service, where it has one."""
    spec = pod.spec
    if spec is None or not spec.hostname or spec.subdomain != name_of(service):
        return None
    return spec.hostname if namespace_of(pod) == namespace_of(service) else None


def port_number(pod: Pod, port: ServicePort) -> int | None:
    """The pod's port that a Service's port leads to: a number, or its first of that name and protocol."""
    target: Any = port.targetPort
    if not isinstance(target, str):
        return int(target) if target else port.port
    if pod.spec is None:
        return None
    sidecars = [each for each in pod.spec.initContainers or () if each.restartPolicy == "Always"]
    for container in [*pod.spec.containers, *sidecars]:
        for found in container.ports or ():
            if found.name == target and (found.protocol or "TCP") == (port.protocol or "TCP"):
                return found.containerPort
    return None


def reference_to(pod: Pod) -> ObjectReference:
    """As endpoints name their pod."""
    return ObjectReference(kind="Pod", namespace=namespace_of(pod), name=name_of(pod), uid=uid_of(pod))


def told_by(pod: Pod) -> tuple[object, ...]:
    """What of a pod is news for its endpoints: where it is the same, nobody looks.

    That it ended is none, as in upstream: a kubelet says with the same write that the pod is not ready.
    """
    spec = pod.spec
    return (
        uid_of(pod),
        labels_of(pod),
        is_ready(pod),
        is_deleted(pod),
        addresses_of(pod),
        node_of(pod),
        (spec.hostname, spec.subdomain) if spec else None,
    )
