"""Drivers' devices and claims for them in few words."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
from lightkube.models.core_v1 import Pod
from lightkube.models.resource_v1 import DeviceClass, ResourceClaim, ResourceSlice
from tests.unit.scheduler.world import World, node, pod

Tree = dict[str, Any]
_revisions = itertools.count(1)


def slice_(name: str, *devices: Tree | str, node: str = "", generation: int = 1, **rest: Any) -> ResourceSlice:
    """``rest``: ``pool``, ``count`` (of the pool's slices), and fields of the spec. Without ``node`` it is for all."""
    pool = {"name": rest.pop("pool", name), "generation": generation, "resourceSliceCount": rest.pop("count", 1)}
    where = {"nodeName": node} if node else {} if "nodeSelector" in rest else {"allNodes": True}
    if "perDeviceNodeSelection" in rest:
        where = {}
    made = [{"name": each} if isinstance(each, str) else each for each in devices]
    spec = {"driver": "gpu.example.com", "pool": pool, "devices": made, **where, **rest}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, ResourceSlice)


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> DeviceClass:
    spec = {"selectors": [{"cel": {"expression": each}} for each in expressions], **spec}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, DeviceClass)


def exactly(name: str = "r", **rest: Any) -> Tree:
    return {"name": name, "exactly": {"deviceClassName": "gpu", **rest}}


def cel(*expressions: str) -> list[Tree]:
    return [{"cel": {"expression": each}} for each in expressions]


def claim(name: str, *requests: Tree, status: Tree | None = None, **devices: Any) -> ResourceClaim:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(next(_revisions))}
    spec = {"devices": {"requests": list(requests or (exactly(),)), **devices}}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status or {}}, ResourceClaim)


def using(name: str, *claims: str, **rest: Any) -> Pod:
    uses = [{"name": f"d{number}", "resourceClaimName": each} for number, each in enumerate(claims)]
    return pod(name, resourceClaims=uses, **rest)


def world(*objects: Any, nodes: int = 1) -> World:
    """Nodes ``n0``, ``n1`` …, and what there is of devices; a class ``gpu`` of all devices unless another is given."""
    made = World(*(node(f"n{number}") for number in range(nodes)))
    devices = made.brain.devices
    made.brain.set_device_class("gpu", device_class())
    for each in objects:
        match each:
            case ResourceSlice():
                devices.put_slice(each.metadata.name, each)
            case DeviceClass():
                made.brain.set_device_class(each.metadata.name, each)
            case _:
                devices.put_claim(each)
    return made
