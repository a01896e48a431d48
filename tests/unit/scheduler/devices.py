"""Test helpers: ResourceSlices, DeviceClasses and ResourceClaims."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
from lightkube.models.core_v1 import Pod
from lightkube.models.resource_v1 import DeviceClass, ResourceClaim, ResourceSlice
from tests.unit.scheduler.world import World, node, pod

from steersman.apimachinery.trees import Tree

_revisions = itertools.count(1)


def slice_(name: str, *devices: Tree | str, node: str = "", generation: int = 1, **rest: Any) -> ResourceSlice:
    """Return a ResourceSlice; ``rest``: ``pool``, ``count`` (slices of the pool) and fields of the spec. Without
    ``node`` it is for all nodes.
    """
    pool = {"name": rest.pop("pool", name), "generation": generation, "resourceSliceCount": rest.pop("count", 1)}
    node_fields = {"nodeName": node} if node else {} if "nodeSelector" in rest else {"allNodes": True}
    if "perDeviceNodeSelection" in rest:
        node_fields = {}
    created = [{"name": device} if isinstance(device, str) else device for device in devices]
    spec = {"driver": "gpu.example.com", "pool": pool, "devices": created, **node_fields, **rest}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, ResourceSlice)


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> DeviceClass:
    spec = {"selectors": [{"cel": {"expression": expression}} for expression in expressions], **spec}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, DeviceClass)


def exactly(name: str = "r", **rest: Any) -> Tree:
    return {"name": name, "exactly": {"deviceClassName": "gpu", **rest}}


def cel(*expressions: str) -> list[Tree]:
    return [{"cel": {"expression": expression}} for expression in expressions]


def claim(name: str, *requests: Tree, status: Tree | None = None, **devices: Any) -> ResourceClaim:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(next(_revisions))}
    spec = {"devices": {"requests": list(requests or (exactly(),)), **devices}}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status or {}}, ResourceClaim)


def pod_with_claims(name: str, *claims: str, **rest: Any) -> Pod:
    uses = [{"name": f"d{number}", "resourceClaimName": item} for number, item in enumerate(claims)]
    return pod(name, resourceClaims=uses, **rest)


def world(*objects: Any, nodes: int = 1) -> World:
    """Return a world with nodes ``n0``, ``n1`` … and DRA objects; class ``gpu`` selects all devices unless given."""
    new_world = World(*(node(f"n{number}") for number in range(nodes)))
    devices = new_world.core.devices
    new_world.core.set_device_class("gpu", device_class())
    for item in objects:
        match item:
            case ResourceSlice():
                devices.put_slice(item.metadata.name, item)
            case DeviceClass():
                new_world.core.set_device_class(item.metadata.name, item)
            case _:
                devices.put_claim(item)
    return new_world
