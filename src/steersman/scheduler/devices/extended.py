"""Extended resources backed by DRA devices (KEP-5004): a DeviceClass provides ``example.com/gpu``.

On nodes without the resource in ``allocatable`` the scheduler creates a claim for the pod, with a request per
container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from lightkube.models.resource_v1 import ResourceClaim

from steersman.workloads.resources import parse_resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.scheduler.pod_info import PodInfo


#: Marks claims that the scheduler created for extended resources.
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
#: Prefix of the implicit extended resource name of every class.
_IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
#: Name of a claim that was not created yet.
IN_MEMORY: Final = "<extended-resources>"


class ExtendedResourceClaim(NamedTuple):
    """An extended resource claim of a pod, as required on one node."""

    claim: Any
    #: Container, resource and request, for ``status.extendedResourceClaimStatus``.
    mappings: tuple[Tree, ...]


class _ContainerRequest(NamedTuple):
    """A container's request for an extended resource."""

    #: Index among all containers, init containers first.
    place: int
    container: str
    request: str
    pieces: int


def extended_resource_classes(classes: Iterable[Any]) -> dict[str, str]:
    """Map extended resources to classes; of several classes the newest wins, then the first by name."""
    found: dict[str, str] = {}
    ordered = sorted(classes, key=lambda device_class: (-_created(device_class), device_class.metadata.name))
    for device_class in ordered:
        if device_class.spec.extendedResourceName:
            found.setdefault(device_class.spec.extendedResourceName, device_class.metadata.name)
    for device_class in ordered:
        found.setdefault(f"{_IMPLICIT}{device_class.metadata.name}", device_class.metadata.name)
    return found


def _created(obj: Any) -> float:
    at = obj.metadata.creationTimestamp
    return at.timestamp() if at is not None else 0.0


def owner_of(claim: Any) -> str:
    """Return the UID of the pod that owns an extended resource claim; empty for other claims."""
    if (claim.metadata.annotations or {}).get(ANNOTATION) != "true":
        return ""
    owners = claim.metadata.ownerReferences or ()
    return next((owner.uid for owner in owners if owner.controller and owner.kind == "Pod"), "")


def pending_claim_uid(pod_uid: str) -> str:
    """Return the placeholder UID of a pod's extended resource claim before it is created."""
    return f"extended-resources-of-{pod_uid}"


def extended_claim_for(pod: PodInfo, resources: Iterable[str], classes: Mapping[str, str]) -> ExtendedResourceClaim:
    """Build the claim for a pod that gets these resources from devices."""
    requests: list[Tree] = []
    mappings: list[Tree] = []
    for resource in sorted(resources):
        made, assigned = _requests(pod.pod.spec, resource)
        requests += [
            {
                "name": ask.request,
                "exactly": {
                    "deviceClassName": classes[resource],
                    "allocationMode": "ExactCount",
                    "count": ask.pieces,
                },
            }
            for ask in made
        ]
        mappings += [
            {"containerName": container, "resourceName": resource, "requestName": request}
            for container, request in assigned
        ]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata = {
        "name": IN_MEMORY,
        "namespace": pod.namespace,
        "uid": pending_claim_uid(pod.uid),
        "generateName": f"{pod.name}-extended-resources-",
        "ownerReferences": [owner],
        "annotations": {ANNOTATION: "true"},
    }
    spec = {"devices": {"requests": sorted(requests, key=lambda each: str(each["name"]))}}
    return ExtendedResourceClaim(msgspec.convert({"metadata": metadata, "spec": spec}, ResourceClaim), tuple(mappings))


def _requests(spec: Any, resource: str) -> tuple[list[_ContainerRequest], list[tuple[str, str]]]:
    """Return the requests for one resource, and pairs of container and request.

    Containers and sidecars have their own requests. Init containers reuse the requests of containers that start later
    and share one request for what they need beyond that.
    """
    first = list(spec.initContainers or ())
    asks = [
        _container_request(index, container, resource) for index, container in enumerate([*first, *spec.containers])
    ]
    init_steps = [
        ask
        for ask, container in zip(asks, first, strict=False)
        if ask is not None and container.restartPolicy != "Always"
    ]
    long_running = [ask for ask in asks if ask is not None and ask not in init_steps]
    assigned = [(ask.container, ask.request) for ask in long_running]
    uncovered: list[_ContainerRequest] = []
    reused: list[tuple[str, str]] = []
    for step in init_steps:
        used, missing = _reuse_requests(step, [ask for ask in long_running if ask.place >= step.place])
        reused += [(step.container, ask.request) for ask in used]
        if missing:
            uncovered.append(step._replace(pieces=missing))
            reused.append((step.container, step.request))
    if not uncovered:
        return long_running, assigned + reused
    largest = max(uncovered, key=lambda ask: ask.pieces)
    own = {ask.request for ask in uncovered}
    reused = [(container, largest.request if request in own else request) for container, request in reused]
    return [largest, *long_running], assigned + reused


def _container_request(index: int, container: Any, resource: str) -> _ContainerRequest | None:
    requests = (container.resources.requests if container.resources is not None else None) or {}
    count = parse_resource(resource, str(requests.get(resource, "0")))
    if not count:
        return None
    number = sorted(requests).index(resource)
    return _ContainerRequest(index, container.name, f"container-{index}-request-{number}", count)


def _reuse_requests(step: _ContainerRequest, later: Sequence[_ContainerRequest]) -> tuple[list[_ContainerRequest], int]:
    """Return the requests that an init container can reuse, and the number of devices still missing."""
    used: list[_ContainerRequest] = []
    missing = step.pieces
    for ask in later:
        if missing <= 0:
            break
        used.append(ask)
        missing -= ask.pieces
    return used, max(0, missing)
