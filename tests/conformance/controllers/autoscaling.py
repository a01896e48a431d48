"""Scenario of autoscalers: each target ends up with the replicas that its load requires, within bounds."""

from __future__ import annotations

from math import ceil
from typing import Any

from lightkube.models.apps_v1 import ReplicaSet
from lightkube.models.autoscaling_v2 import HorizontalPodAutoscaler
from lightkube.models.core_v1 import Pod
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World, ensure

from steersman.apimachinery.timestamps import format_time
from steersman.client.objects import labels_of, name_of
from steersman.client.resource_types import custom
from steersman.runtime.conditions import find_condition
from steersman.workloads.pods import is_ready

TARGETS = ("a", "b")
NAMES = ("x", "y", "z")
#: Target load of one replica, in thousandths.
SHARE = 1000
TOLERANCE = 0.1
#: Metrics servers are external: here their responses are objects of custom kinds.
USE = custom("metrics.k8s.io/v1beta1", "PodMetrics", plural="pods")
QUEUE = custom("external.metrics.k8s.io/v1beta1", "QueueLength", plural="queue")


class Autoscaling(Scenario):
    """Loads rise and fall, metrics fail, users scale by hand and change autoscalers, also to two for one target."""

    controllers = (
        "horizontal-pod-autoscaler-controller",
        "replicaset-controller",
        "garbage-collector-controller",
        "podgc",
    )
    options = {  # so that the scenario converges in its time
        "horizontal_pod_autoscaler_downscale_stabilization_seconds": 30.0,
        "horizontal_pod_autoscaler_cpu_initialization_period_seconds": 0.0,
    }

    def __init__(self) -> None:
        #: Total load of a target, in thousandths; None: unknown to the metrics server.
        self._load: dict[str, int | None] = dict.fromkeys(TARGETS, 1000)
        #: Latest metrics.
        self._queued: dict[str, int | None] = {}

    async def prepare(self, world: World) -> None:
        for kind in (USE, QUEUE):
            await world.define(kind)
        await world.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
        for name in TARGETS:
            await self._make_target(world, name)

    def edits(self) -> Edits:
        return [self.load, self.load, self.load, self.lose_metrics, self.make, self.make, self.make,
                self.change, self.change, self.remove, self.scale, self.replace_target,
                self.delete_pod]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as kubelets, which make pods ready and end them, and as the metrics server."""
        pods = await world.all(Pod)
        for pod in pods:
            if pod.metadata.deletionTimestamp is not None:
                await world.client.delete_object(pod, grace_period_seconds=0)
            elif not is_ready(pod):
                await self._start(world, pod)
        for name in TARGETS:
            await self._measure(
                world, name, [pod for pod in pods if labels_of(pod).get("app") == name and is_ready(pod)]
            )

    async def _start(self, world: World, pod: Pod) -> None:
        now = world.clock.now().replace(microsecond=0)
        rows = [{"type": "Ready", "status": "True", "lastTransitionTime": now}]
        status = {"phase": "Running", "startTime": now, "conditions": rows}
        await world.client.patch(Pod, name_of(pod), {"status": status}, namespace=NAMESPACE, subresource="status")

    async def _measure(self, world: World, target: str, pods: list[Pod]) -> None:
        selector = {"app": target}
        measured = {name_of(usage): usage
                    for usage in await world.client.list(USE, namespace=NAMESPACE, label_selector=selector)}  # fmt: skip
        load, names = self._load[target], {name_of(pod) for pod in pods}
        for name in measured:
            if name not in names or load is None:
                await ensure(world.client.delete(USE, name, namespace=NAMESPACE))
        for name in sorted(names) if load is not None else ():
            containers = [{"name": "c", "usage": {"cpu": f"{load // len(names)}m"}}]
            if name not in measured or measured[name]["containers"] != containers:
                used = {"containers": containers, "timestamp": format_time(world.clock.now()), "window": "1s"}
                await self._put(world, USE, name, selector, used)
        if load is None:
            await ensure(world.client.delete(QUEUE, target, namespace=NAMESPACE))
        elif self._queued.get(target) != load:
            await self._put(world, QUEUE, target, selector, {"metricName": "queue", "value": f"{load}m"})
        self._queued[target] = load

    async def _put(self, world: World, kind: Any, name: str, labels: dict[str, str], fields: dict[str, Any]) -> None:
        body = {
            "apiVersion": kind.info.api_version,
            "kind": kind.info.kind,
            "metadata": {"name": name, "labels": labels},
        }
        await world.client.apply({**body, **fields}, namespace=NAMESPACE, field_manager="metrics", force=True)

    # Targets

    async def _make_target(self, world: World, name: str) -> None:
        resources = {"requests": {"cpu": f"{SHARE}m"}}
        template = {"metadata": {"labels": {"app": name}},
                    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i", "resources": resources}]}}  # fmt: skip
        spec = {"replicas": world.dice.choice([1, 3]), "selector": {"matchLabels": {"app": name}}, "template": template}
        body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)

    async def replace_target(self, world: World) -> None:
        name = world.dice.choice(TARGETS)
        await ensure(world.client.delete(ReplicaSet, name, namespace=NAMESPACE, propagation_policy="Background"))
        await world.advance(world.dice.choice([0, 1, 20]))
        await self._make_target(world, name)

    async def scale(self, world: World) -> None:
        patch = {"spec": {"replicas": world.dice.choice([0, 1, 4, 9])}}
        await world.client.patch(ReplicaSet, world.dice.choice(TARGETS), patch, namespace=NAMESPACE)

    async def load(self, world: World) -> None:
        self._load[world.dice.choice(TARGETS)] = world.dice.choice([0, 900, 1500, 3000, 4200, 7000, 20000])

    async def lose_metrics(self, world: World) -> None:
        self._load[world.dice.choice(TARGETS)] = None

    # Autoscalers

    def _spec(self, world: World) -> dict[str, Any]:
        dice, target = world.dice, world.dice.choice([*TARGETS, *TARGETS, "gone"])
        least = dice.choice([1, 1, 2, 3])
        selector = {"matchLabels": {"app": target}}
        metric = dice.choice([
            {"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "AverageValue", "averageValue": f"{SHARE}m"}}},
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 100}}},
            {"type": "External", "external": {
                "metric": {"name": "queue", "selector": selector},
                "target": {"type": "AverageValue", "averageValue": f"{SHARE}m"}}},
        ])  # fmt: skip
        spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": target}, "minReplicas": least,
                "maxReplicas": least + dice.choice([0, 3, 6]), "metrics": [metric]}  # fmt: skip
        window = dice.choice([None, 0, 20])
        if window is not None:
            spec["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": window}}
        return spec

    async def make(self, world: World) -> None:
        metadata = {"name": world.dice.choice(NAMES)}
        body = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata}
        await world.client.create({**body, "spec": self._spec(world)}, namespace=NAMESPACE)

    async def change(self, world: World) -> None:
        patch = {"spec": {"behavior": None, **self._spec(world)}}
        await world.client.patch(HorizontalPodAutoscaler, world.dice.choice(NAMES), patch, namespace=NAMESPACE)

    async def remove(self, world: World) -> None:
        await world.client.delete(HorizontalPodAutoscaler, world.dice.choice(NAMES), namespace=NAMESPACE)

    # What must be so

    async def wrong(self, world: World) -> str:
        targets = {name_of(replica_set): replica_set for replica_set in await world.all(ReplicaSet)}
        autoscalers = await world.all(HorizontalPodAutoscaler)
        for autoscaler in autoscalers:
            target = targets.get(autoscaler.spec.scaleTargetRef.name)
            rivals = [
                other for other in autoscalers if other.spec.scaleTargetRef.name == autoscaler.spec.scaleTargetRef.name
            ]
            fault = self._wrong_without(autoscaler) if target is None else self._wrong_with(autoscaler, target, rivals)
            if fault:
                return f"{name_of(autoscaler)}: {fault}"
        return ""

    def _wrong_without(self, autoscaler: HorizontalPodAutoscaler) -> str:
        return (
            ""
            if _reported(autoscaler, "AbleToScale") == "False FailedGetScale"
            else "it does not tell that its target is gone"
        )

    def _wrong_with(
        self, autoscaler: HorizontalPodAutoscaler, target: ReplicaSet, rivals: list[HorizontalPodAutoscaler]
    ) -> str:
        spec, status, count = autoscaler.spec, autoscaler.status, target.spec.replicas or 0
        active = _reported(autoscaler, "ScalingActive")
        if not count:
            return "" if active == "False ScalingDisabled" else f"of none it says {active}"
        if len(rivals) > 1:  # autoscalers with exclusive bounds change the target forever, as upstream
            agree = max(one.spec.minReplicas for one in rivals) <= min(one.spec.maxReplicas for one in rivals)
            return f"it has a rival and says {active}" if agree and active != "False AmbiguousSelector" else ""
        if not spec.minReplicas <= count <= spec.maxReplicas:
            return f"{count} replicas are not within {spec.minReplicas} and {spec.maxReplicas}"
        load = self._load[name_of(target)]
        if load is None:
            return "" if active.startswith("False FailedGet") else f"without metrics it says {active}"
        if active != "True ValidMetricFound" or (status.currentReplicas, status.desiredReplicas) != (count, count):
            return f"of {count} replicas it says {active}, {status}"
        expected = min(max(ceil(load / SHARE), spec.minReplicas), spec.maxReplicas)
        is_near = abs(load / (count * SHARE) - 1) <= TOLERANCE + 0.01
        return "" if count == expected or is_near else f"{count} replicas carry {load}, {expected} should"


def _reported(autoscaler: HorizontalPodAutoscaler, type_: str) -> str:
    row = find_condition(autoscaler.status.conditions if autoscaler.status else None, type_)
    return f"{row.status} {row.reason}" if row is not None else ""
