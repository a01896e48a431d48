"""Devices in place of extended resources: a pod asks for ``example.com/gpu``, and a class of devices serves as that (KEP-5004).

Where a node has none of the resource itself, the pod gets a claim of its own, which the scheduler makes, with a request for
each container that asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from lightkube.models.resource_v1 import ResourceClaim

from steersman.scheduler.amounts import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steersman.scheduler.pod_info import PodInfo

Tree = dict[str, Any]

#: Marks the claim that a scheduler has made for a pod.
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
#: Every class serves as the resource of this domain with its name.
_IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
#: What a claim is called that nobody knows yet.
IN_MEMORY: Final = "<extended-resources>"


class Extended(NamedTuple):
    """A pod's claim as it is to be made for one node."""

    claim: Any
    #: Which container's resource is which request, for the pod's status.
    mappings: tuple[Tree, ...]


class _Ask(NamedTuple):
    """A container that asks for some of a resource."""

    #: Where it stands among all containers, those of the start first.
    place: int
    container: str
    request: str
    pieces: int


def resources_of(classes: Iterable[Any]) -> dict[str, str]:
    """Extended resources with the class that serves as each: of several the latest, then the first by name."""
    found: dict[str, str] = {}
    ordered = sorted(classes, key=lambda each: (-_created(each), each.metadata.name))
    for each in ordered:
        if each.spec.extendedResourceName:
            found.setdefault(each.spec.extendedResourceName, each.metadata.name)
    for each in ordered:
        found.setdefault(f"{_IMPLICIT}{each.metadata.name}", each.metadata.name)
    return found


def _created(obj: Any) -> float:
    at = obj.metadata.creationTimestamp
    return at.timestamp() if at is not None else 0.0


def owner_of(claim: Any) -> str:
    """The UID of the pod that a scheduler has made the claim for; empty for any other claim."""
    if (claim.metadata.annotations or {}).get(ANNOTATION) != "true":
        return ""
    owners = claim.metadata.ownerReferences or ()
    return next((owner.uid for owner in owners if owner.controller and owner.kind == "Pod"), "")


def promised_uid(pod_uid: str) -> str:
    """Stands for the UID of a pod's claim until the API server has given it one."""
    return f"extended-resources-of-{pod_uid}"


def claim_for(pod: PodInfo, resources: Iterable[str], classes: Mapping[str, str]) -> Extended:
    """The claim of a pod that gets these resources as devices."""
    requests: list[Tree] = []
    mappings: list[Tree] = []
    for resource in sorted(resources):
        made, mapped = _requests(pod.pod.spec, resource)
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
            for container, request in mapped
        ]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata = {
        "name": IN_MEMORY,
        "namespace": pod.namespace,
        "uid": promised_uid(pod.uid),
        "generateName": f"{pod.name}-extended-resources-",
        "ownerReferences": [owner],
        "annotations": {ANNOTATION: "true"},
    }
    spec = {"devices": {"requests": sorted(requests, key=lambda each: str(each["name"]))}}
    return Extended(msgspec.convert({"metadata": metadata, "spec": spec}, ResourceClaim), tuple(mappings))


def _requests(spec: Any, resource: str) -> tuple[list[_Ask], list[tuple[str, str]]]:
    """Requests for one resource, and which container uses which.

    What runs on gets its own. Steps of the start take what those after them will have, and share what they need beyond.
    """
    first = list(spec.initContainers or ())
    asks = [_ask(index, each, resource) for index, each in enumerate([*first, *spec.containers])]
    steps = [
        ask
        for ask, container in zip(asks, first, strict=False)
        if ask is not None and container.restartPolicy != "Always"
    ]
    lasting = [ask for ask in asks if ask is not None and ask not in steps]
    mapped = [(ask.container, ask.request) for ask in lasting]
    beyond: list[_Ask] = []
    borrowed: list[tuple[str, str]] = []
    for step in steps:
        used, missing = _borrow(step, [ask for ask in lasting if ask.place >= step.place])
        borrowed += [(step.container, ask.request) for ask in used]
        if missing:
            beyond.append(step._replace(pieces=missing))
            borrowed.append((step.container, step.request))
    if not beyond:
        return lasting, mapped + borrowed
    largest = max(beyond, key=lambda ask: ask.pieces)
    own = {ask.request for ask in beyond}
    borrowed = [(container, largest.request if request in own else request) for container, request in borrowed]
    return [largest, *lasting], mapped + borrowed


def _ask(index: int, container: Any, resource: str) -> _Ask | None:
    requests = (container.resources.requests if container.resources is not None else None) or {}
    count = amount(resource, str(requests.get(resource, "0")))
    if not count:
        return None
    number = sorted(requests).index(resource)
    return _Ask(index, container.name, f"container-{index}-request-{number}", count)


def _borrow(step: _Ask, later: Sequence[_Ask]) -> tuple[list[_Ask], int]:
    """Requests that a step can use, and how much more it needs."""
    used: list[_Ask] = []
    missing = step.pieces
    for ask in later:
        if missing <= 0:
            break
        used.append(ask)
        missing -= ask.pieces
    return used, max(0, missing)
