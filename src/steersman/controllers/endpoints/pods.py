"""Endpoints of pods. Rules of ``k8s.io/endpointslice/util``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightkube.models.core_v1 import ObjectReference

from steersman.client.objects import labels_of, metadata_field, name_of, namespace_of, uid_of
from steersman.workloads.pods import is_finished, is_ready, node_of

if TYPE_CHECKING:
    from lightkube.models.core_v1 import Pod, Service, ServicePort


def may_be_endpoint(pod: Pod, *, terminating: bool) -> bool:
    """Report whether a pod has an address and has not terminated; ``terminating`` includes pods that are being deleted."""
    if is_finished(pod) or not addresses_of(pod):
        return False
    return terminating or not is_deleted(pod)


def is_deleted(pod: Pod) -> bool:
    """Report whether the pod is being deleted."""
    return metadata_field(pod, "deletionTimestamp") is not None


def addresses_of(pod: Pod) -> list[str]:
    """Return all pod IPs."""
    if pod.status is None:
        return []
    many = [pod_ip.ip for pod_ip in pod.status.podIPs or () if pod_ip.ip]
    return many or ([pod.status.podIP] if pod.status.podIP else [])


def address_of(pod: Pod, family: str) -> str:
    """Return the first pod IP of ``IPv4`` or ``IPv6``; empty without one."""
    wants_colon = family == "IPv6"
    return next((address for address in addresses_of(pod) if (":" in address) is wants_colon), "")


def hostname_of(pod: Pod, service: Service) -> str | None:
    """Return the pod's hostname if its subdomain is the Service."""
    spec = pod.spec
    if spec is None or not spec.hostname or spec.subdomain != name_of(service):
        return None
    return spec.hostname if namespace_of(pod) == namespace_of(service) else None


def port_number(pod: Pod, port: ServicePort) -> int | None:
    """Return the pod's port of a Service port: a number, or the first with its name and protocol."""
    target: Any = port.targetPort
    if not isinstance(target, str):
        return int(target) if target else port.port
    if pod.spec is None:
        return None
    sidecars = [container for container in pod.spec.initContainers or () if container.restartPolicy == "Always"]
    for container in [*pod.spec.containers, *sidecars]:
        for container_port in container.ports or ():
            if container_port.name == target and (container_port.protocol or "TCP") == (port.protocol or "TCP"):
                return container_port.containerPort
    return None


def reference_to(pod: Pod) -> ObjectReference:
    """Return the ``targetRef`` of a pod."""
    return ObjectReference(kind="Pod", namespace=namespace_of(pod), name=name_of(pod), uid=uid_of(pod))


def endpoint_attributes(pod: Pod) -> tuple[object, ...]:
    """Return the parts of a pod that affect its endpoints; equal parts need no reconcile.

    Termination is not one, as upstream: the kubelet sets the pod unready in the same write.
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
