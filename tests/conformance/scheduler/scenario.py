"""Scenario of the scheduler: nodes, pods and claims change.

At every step no node is overcommitted, no pod changes its node and no device is allocated to two claims. Finally every pod
is bound that a new scheduler would find a node for.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from lightkube.models.core_v1 import Node, Pod
from lightkube.models.resource_v1 import DeviceClass, ResourceClaim, ResourceSlice
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World, ensure

from steersman.scheduler.configuration.settings import Settings
from steersman.scheduler.core import AssumedPod, SchedulerCore
from steersman.scheduler.pod_info import PodInfo
from steersman.workloads.pods import is_finished

_CPUS = ("100m", "500m", "1", "1500m", "4")
#: Extended resource that only devices provide.
_GPU = "example.com/gpu"


class Scheduling(Scenario):
    """Users create pods with claims, nodes come and go; the scheduler runs beside the ResourceClaim controller."""

    controllers = ("resourceclaim-controller",)
    steps = 30
    #: Shorter than the retry interval of unschedulable pods, so that missing events are detected.
    rest_seconds = 200.0

    def __init__(self) -> None:
        self._serial = 0
        #: First observed node by pod UID.
        self._places: dict[str, str] = {}

    async def prepare(self, world: World) -> None:
        spec = {"extendedResourceName": _GPU}
        await world.client.create(DeviceClass.from_dict({"metadata": {"name": "gpu"}, "spec": spec}))
        for _ in range(2):
            await self.add_node(world)

    def _name(self, kind: str) -> str:
        self._serial += 1
        return f"{kind}{self._serial}"

    # Edits

    def edits(self) -> Edits:
        return [self.add_pod] * 6 + [self.delete_pod] * 2 + [
            self.finish_pod, self.add_node, self.change_node, self.delete_node, self.open_gate, self.delete_claim,
        ]  # fmt: skip

    async def add_node(self, world: World) -> None:
        name = self._name("n")
        capacity = {"cpu": world.dice.choice(["1", "2", "4"]), "memory": "8Gi", "pods": world.dice.choice(["3", "110"])}
        labels = {"kubernetes.io/hostname": name, "zone": world.dice.choice("ab")}
        ready = {"type": "Ready", "status": "True"}
        await world.client.create(
            Node.from_dict(
                {
                    "metadata": {"name": name, "labels": labels},
                    "status": {"capacity": capacity, "allocatable": capacity, "conditions": [ready]},
                }
            )
        )
        # Admission adds the not-ready taint, which the node lifecycle controller would remove.
        await world.client.patch(Node, name, {"spec": {"taints": None}})
        devices = [{"name": f"d{number}"} for number in range(world.dice.choice([0, 1, 2]))]
        spec = {
            "driver": "gpu.example.com",
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        }
        if devices:
            await world.client.create(ResourceSlice.from_dict({"metadata": {"name": name}, "spec": spec}))

    async def change_node(self, world: World) -> None:
        nodes = await world.client.list(Node)
        if nodes:
            node = world.dice.choice(nodes)
            await world.client.patch(Node, node.metadata.name, {"spec": {"unschedulable": world.dice.random() < 0.4}})

    async def delete_node(self, world: World) -> None:
        nodes = await world.client.list(Node)
        if len(nodes) > 2:
            name = world.dice.choice(nodes).metadata.name
            await world.client.delete(Node, name)
            await ensure(world.client.delete(ResourceSlice, name))

    async def add_pod(self, world: World) -> None:
        name, app = self._name("p"), world.dice.choice("xy")
        container: dict[str, Any] = {
            "name": "c",
            "image": "i",
            "resources": {"requests": {"cpu": world.dice.choice(_CPUS)}},
        }
        spec: dict[str, Any] = {"containers": [container], "terminationGracePeriodSeconds": 0}
        labels = {"app": app}
        if world.dice.random() < 0.2:
            term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        elif world.dice.random() < 0.2:
            spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": labels}}]
        if world.dice.random() < 0.25:
            await self._add_claim(world, name)
            spec["resourceClaims"] = [{"name": "dev", "resourceClaimName": name}]
        elif world.dice.random() < 0.1:
            container["resources"]["requests"][_GPU] = "1"
            container["resources"]["limits"] = {_GPU: "1"}
        if world.dice.random() < 0.1:
            spec["schedulingGates"] = [{"name": "wait"}]
        await world.client.create(
            Pod.from_dict({"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}, "spec": spec})
        )

    async def _add_claim(self, world: World, name: str) -> None:
        requests = [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": world.dice.choice([1, 1, 2])}}]
        spec = {"devices": {"requests": requests}}
        await world.client.create(
            ResourceClaim.from_dict({"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})
        )

    async def delete_claim(self, world: World) -> None:
        await world.delete_any(ResourceClaim)

    async def finish_pod(self, world: World) -> None:
        pod = await world.any(Pod, lambda pod: bool(pod.spec.nodeName))
        if pod is not None:
            await world.set_ready(pod, ready=False, phase="Succeeded")

    async def open_gate(self, world: World) -> None:
        pod = await world.any(Pod, lambda pod: bool(pod.spec.schedulingGates))
        if pod is not None:
            await world.client.patch(Pod, pod.metadata.name, {"spec": {"schedulingGates": None}}, namespace=NAMESPACE)

    async def live(self, world: World) -> None:
        """Delete pods of deleted nodes, as the pod garbage collector does."""
        nodes = {node.metadata.name for node in await world.client.list(Node)}
        for pod in await world.all(Pod):
            if (pod.spec.nodeName and pod.spec.nodeName not in nodes) or pod.metadata.deletionTimestamp is not None:
                await ensure(world.client.delete(Pod, pod.metadata.name, namespace=NAMESPACE, grace_period_seconds=0))

    # Invariants

    async def violation(self, world: World) -> str:
        """Return a violated safety invariant; empty if all hold."""
        pods, nodes = await world.all(Pod), {node.metadata.name: node for node in await world.client.list(Node)}
        for pod in pods:
            node_name = pod.spec.nodeName
            if node_name and self._places.setdefault(pod.metadata.uid, node_name) != node_name:
                return f"pod {pod.metadata.name} moved from {self._places[pod.metadata.uid]} to {node_name}"
        fresh = await self._fresh_core(world)
        for name, info in fresh.cluster.infos.items():
            if name in nodes and (over := _overcommitted(info)):
                return f"node {name}: {over}"
        taken = Counter(
            (result.pool, result.device)
            for claim in await world.all(ResourceClaim)
            if claim.status is not None and claim.status.allocation is not None
            for result in claim.status.allocation.devices.results
        )
        twice = [device for device, count in taken.items() if count > 1]
        return f"devices of two claims: {twice}" if twice else ""

    async def wrong(self, world: World) -> str:
        """Return a pending pod that is feasible; empty if there is none."""
        fresh = await self._fresh_core(world)
        result = await fresh.schedule_one(())
        while result is not None and not isinstance(result, AssumedPod):
            result = await fresh.schedule_one(())
        return f"pod {result.queued.pod.name} would fit on {result.node}" if result is not None else ""

    async def _fresh_core(self, world: World) -> SchedulerCore:
        """Return a scheduler core built from the current objects."""
        fresh = SchedulerCore(Settings(), dice=random.Random(1), monotonic=lambda: 0.0, now=world.clock.now)
        for class_ in await world.client.list(DeviceClass):
            fresh.set_device_class(class_.metadata.name, class_)
        for slice_ in await world.client.list(ResourceSlice):
            fresh.devices.put_slice(slice_.metadata.name, slice_)
        for claim in await world.all(ResourceClaim):
            fresh.devices.put_claim(claim)
        for node in await world.client.list(Node):
            fresh.set_node(node)
        pods = await world.all(Pod)
        for pod in pods:
            if pod.spec.nodeName:
                fresh.set_assigned_pod(pod)
        for pod in pods:
            if not pod.spec.nodeName and not is_finished(pod) and pod.metadata.deletionTimestamp is None:
                fresh.set_pending_pod(PodInfo(pod))
        return fresh


def _overcommitted(info: Any) -> str:
    if len(info.pods) > info.pods_max:
        return f"{len(info.pods)} pods, and room for {info.pods_max}"
    over = [
        name for name, requested in info.requested.items() if requested > info.allocatable.get(name, 0) and name != _GPU
    ]
    apps = Counter(pod.labels["app"] for pod in info.pods.values())
    alone = [pod.name for pod in info.pods.values() if pod.anti_affinity and apps[pod.labels["app"]] > 1]
    return f"more {over} than it has" if over else f"{alone} not alone" if alone else ""
