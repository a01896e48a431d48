"""Random scenarios for the scheduler: nodes, pods and claims change, requests and watches fail, the scheduler restarts.

At every step no node is overcommitted, no pod changes its node and no device is allocated to two claims. After the
faults stop, every pod is bound that a new scheduler would find a node for. ``scripts/scheduler_histories.py`` runs many
seeds.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from lightkube.models.core_v1 import Node, Pod
from lightkube.models.resource_v1 import DeviceClass, ResourceClaim, ResourceSlice
from tests.conformance.controllers.harness import NAMESPACE, World, cluster, ensure

from steersman.client import Client
from steersman.scheduler.configuration.settings import Settings
from steersman.scheduler.core import AssumedPod, SchedulerCore
from steersman.scheduler.pod_info import PodInfo
from steersman.scheduler.scheduler import Scheduler
from steersman.workloads.pods import is_finished

if TYPE_CHECKING:
    from steersman.controllers.manager.options import ManagerOptions
    from steersman.runtime.manager import Manager

STEPS = 30
#: Time to converge after the faults stop; shorter than the retry interval of unschedulable pods, so that missing events
#: are detected.
REST_SECONDS = 200.0
_CPUS = ("100m", "500m", "1", "1500m", "4")
#: Extended resource that only devices provide.
_GPU = "example.com/gpu"


class Cluster(World):
    """A world with a scheduler and the ResourceClaim controller."""

    async def make_manager(self, options: ManagerOptions) -> Manager:
        manager = await super().make_manager(options)
        client = Client(self._transport, clock=self.clock, user_agent="kube-scheduler/test")
        manager.add(Scheduler(type(manager.context)(client, dice=random.Random(self.dice.random()))))
        return manager


class Scenario:
    """Actions of users and kubelets, and the invariants."""

    controllers = ("resourceclaim-controller",)

    def __init__(self, world: Cluster) -> None:
        self.world = world
        self.dice = world.dice
        self.client = world.client
        self._serial = 0
        #: First observed node by pod UID.
        self._places: dict[str, str] = {}

    async def prepare(self) -> None:
        spec = {"extendedResourceName": _GPU}
        await self.client.create(DeviceClass.from_dict({"metadata": {"name": "gpu"}, "spec": spec}))
        for _ in range(2):
            await self.add_node()

    def _name(self, kind: str) -> str:
        self._serial += 1
        return f"{kind}{self._serial}"

    # Edits

    async def edit(self) -> None:
        what = self.dice.choice([self.add_pod] * 6 + [self.delete_pod] * 2 + [self.finish_pod, self.add_node,
                                self.change_node, self.delete_node, self.open_gate, self.delete_claim])  # fmt: skip
        await what()

    async def add_node(self) -> None:
        name = self._name("n")
        capacity = {"cpu": self.dice.choice(["1", "2", "4"]), "memory": "8Gi", "pods": self.dice.choice(["3", "110"])}
        labels = {"kubernetes.io/hostname": name, "zone": self.dice.choice("ab")}
        ready = {"type": "Ready", "status": "True"}
        await self.client.create(
            Node.from_dict(
                {
                    "metadata": {"name": name, "labels": labels},
                    "status": {"capacity": capacity, "allocatable": capacity, "conditions": [ready]},
                }
            )
        )
        # Admission adds the not-ready taint, which the node lifecycle controller would remove.
        await self.client.patch(Node, name, {"spec": {"taints": None}})
        devices = [{"name": f"d{number}"} for number in range(self.dice.choice([0, 1, 2]))]
        spec = {
            "driver": "gpu.example.com",
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        }
        if devices:
            await self.client.create(ResourceSlice.from_dict({"metadata": {"name": name}, "spec": spec}))

    async def change_node(self) -> None:
        nodes = await self.client.list(Node)
        if nodes:
            node = self.dice.choice(nodes)
            await self.client.patch(Node, node.metadata.name, {"spec": {"unschedulable": self.dice.random() < 0.4}})

    async def delete_node(self) -> None:
        nodes = await self.client.list(Node)
        if len(nodes) > 2:
            name = self.dice.choice(nodes).metadata.name
            await self.client.delete(Node, name)
            await ensure(self.client.delete(ResourceSlice, name))

    async def add_pod(self) -> None:
        name, app = self._name("p"), self.dice.choice("xy")
        container: dict[str, Any] = {
            "name": "c",
            "image": "i",
            "resources": {"requests": {"cpu": self.dice.choice(_CPUS)}},
        }
        spec: dict[str, Any] = {"containers": [container], "terminationGracePeriodSeconds": 0}
        labels = {"app": app}
        if self.dice.random() < 0.2:
            term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        elif self.dice.random() < 0.2:
            spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": labels}}]
        if self.dice.random() < 0.25:
            await self._add_claim(name)
            spec["resourceClaims"] = [{"name": "dev", "resourceClaimName": name}]
        elif self.dice.random() < 0.1:
            container["resources"]["requests"][_GPU] = "1"
            container["resources"]["limits"] = {_GPU: "1"}
        if self.dice.random() < 0.1:
            spec["schedulingGates"] = [{"name": "wait"}]
        await self.client.create(
            Pod.from_dict({"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}, "spec": spec})
        )

    async def _add_claim(self, name: str) -> None:
        requests = [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": self.dice.choice([1, 1, 2])}}]
        spec = {"devices": {"requests": requests}}
        await self.client.create(
            ResourceClaim.from_dict({"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})
        )

    async def delete_pod(self) -> None:
        pod = await self.world.any(Pod)
        if pod is not None:
            await self.client.delete(Pod, pod.metadata.name, namespace=NAMESPACE)

    async def delete_claim(self) -> None:
        claim = await self.world.any(ResourceClaim)
        if claim is not None:
            await self.client.delete(ResourceClaim, claim.metadata.name, namespace=NAMESPACE)

    async def finish_pod(self) -> None:
        pod = await self.world.any(Pod, lambda pod: bool(pod.spec.nodeName))
        if pod is not None:
            await self.world.set_ready(pod, ready=False, phase="Succeeded")

    async def open_gate(self) -> None:
        pod = await self.world.any(Pod, lambda pod: bool(pod.spec.schedulingGates))
        if pod is not None:
            await self.client.patch(Pod, pod.metadata.name, {"spec": {"schedulingGates": None}}, namespace=NAMESPACE)

    async def live(self) -> None:
        """Delete pods of deleted nodes, as the pod garbage collector does."""
        nodes = {node.metadata.name for node in await self.client.list(Node)}
        for pod in await self.world.all(Pod):
            if (pod.spec.nodeName and pod.spec.nodeName not in nodes) or pod.metadata.deletionTimestamp is not None:
                await ensure(self.client.delete(Pod, pod.metadata.name, namespace=NAMESPACE, grace_period_seconds=0))

    # Invariants

    async def violation(self) -> str:
        """Return a violated safety invariant; empty if all hold."""
        pods, nodes = await self.world.all(Pod), {node.metadata.name: node for node in await self.client.list(Node)}
        for pod in pods:
            where = pod.spec.nodeName
            if where and self._places.setdefault(pod.metadata.uid, where) != where:
                return f"pod {pod.metadata.name} moved from {self._places[pod.metadata.uid]} to {where}"
        fresh = await self._fresh_core()
        for name, info in fresh.cluster.infos.items():
            if name in nodes and (over := _overcommitted(info)):
                return f"node {name}: {over}"
        taken = Counter(
            (result.pool, result.device)
            for claim in await self.world.all(ResourceClaim)
            if claim.status is not None and claim.status.allocation is not None
            for result in claim.status.allocation.devices.results
        )
        twice = [device for device, count in taken.items() if count > 1]
        return f"devices of two claims: {twice}" if twice else ""

    async def waiting(self) -> str:
        """Return a pending pod that is feasible; empty if there is none."""
        fresh = await self._fresh_core()
        result = fresh.schedule_one(())
        while result is not None and not isinstance(result, AssumedPod):
            result = fresh.schedule_one(())
        return f"pod {result.queued.pod.name} would fit on {result.node}" if result is not None else ""

    async def _fresh_core(self) -> SchedulerCore:
        """Return a scheduler core built from the current objects."""
        fresh = SchedulerCore(Settings(), dice=random.Random(1), monotonic=lambda: 0.0, now=self.world.clock.now)
        for class_ in await self.client.list(DeviceClass):
            fresh.set_device_class(class_.metadata.name, class_)
        for slice_ in await self.client.list(ResourceSlice):
            fresh.devices.put_slice(slice_.metadata.name, slice_)
        for claim in await self.world.all(ResourceClaim):
            fresh.devices.put_claim(claim)
        for node in await self.client.list(Node):
            fresh.set_node(node)
        pods = await self.world.all(Pod)
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


async def play(seed: int, *, steps: int = STEPS) -> None:
    """Run one scenario. Raises AssertionError with the seed on failure."""
    async with cluster(seed, Cluster) as world:
        scenario = Scenario(world)
        await scenario.prepare()
        await world.start(scenario.controllers)
        for _ in range(steps):
            await world.pass_time()
            await ensure(scenario.edit())
            await ensure(scenario.live())
            violation = await scenario.violation()
            assert not violation, f"seed {seed}: {violation}"
        world.faults.stop()
        await _comes_to_rest(scenario, seed)
        await world.end(crash=False)


async def _comes_to_rest(scenario: Scenario, seed: int) -> None:
    world = scenario.world
    deadline, left = world.clock.monotonic() + REST_SECONDS, "it has not begun"
    while left and world.clock.monotonic() < deadline:
        await ensure(scenario.live())
        await world.advance(2)
        left = await scenario.waiting()
    violation = await scenario.violation()
    assert not violation, f"seed {seed}: {violation}"
    assert not left, f"seed {seed}: at rest for {REST_SECONDS:.0f} s, and still {left}"
