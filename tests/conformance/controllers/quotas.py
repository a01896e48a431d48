"""Scenario of resource quotas: the reported usage equals the existing objects after any edits and rejections.

What must be is what "Resource Quotas" of Kubernetes' documentation says is counted.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.apimachinery.quantity import Quantity, parse
from steersman.client import custom, tree

QUOTAS, PODS, SERVICES = tree("v1", "ResourceQuota"), tree("v1", "Pod"), tree("v1", "Service")
CLAIMS, MAPS = tree("v1", "PersistentVolumeClaim"), tree("v1", "ConfigMap")
WIDGETS = custom("example.com/v1", "Widget", plural="widgets", namespaced=True)
DEFINITIONS = tree("apiextensions.k8s.io/v1", "CustomResourceDefinition")
#: Amounts in thousandths.
THOUSANDTHS = {"100m": 100, "1": 1000, "2": 2000, "64Mi": 64 * 2**20 * 1000, "512Mi": 512 * 2**20 * 1000,
               "1Gi": 2**30 * 1000, "2Gi": 2**31 * 1000}  # fmt: skip
#: Resources of a quota → amounts to choose from.
AMOUNTS: dict[str, list[str]] = {
    "pods": ["0", "3", "20"], "count/pods": ["5", "20"], "requests.cpu": ["1", "4"], "cpu": ["2500m"],
    "limits.memory": ["1Gi", "10Gi"], "requests.example.com/gpu": ["2"],
    "services": ["2", "9"], "services.nodeports": ["1", "9"], "services.loadbalancers": ["0", "9"],
    "persistentvolumeclaims": ["3"], "requests.storage": ["5Gi"], "fast.storageclass.storage.k8s.io/requests.storage": ["3Gi"],
    "count/configmaps": ["4", "9"], "configmaps": ["9"], "resourcequotas": ["9"], "count/widgets.example.com": ["1", "5"],
}  # fmt: skip
SCOPES: tuple[dict[str, Any], ...] = (
    {"scopes": ["Terminating"]},
    {"scopes": ["NotTerminating"]},
    {"scopes": ["NotBestEffort", "NotTerminating"]},
    {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}},
)
TYPES = ("ClusterIP", "NodePort", "LoadBalancer")
#: Deletions that have just become overdue may be counted or not.
JUST_NOW = timedelta(seconds=3)


class Quotas(Scenario):
    """Users create and delete counted objects and quotas; kubelets end pods, or never do."""

    controllers = ("resourcequota-controller",)

    async def prepare(self, world: World) -> None:
        body = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "high"},
            "value": 1000,
        }
        await world.client.create(body)

    def edits(self) -> Edits:
        return [self.make_quota] * 4 + [self.make_pod] * 5 + [self.remove] * 7 + [
            self.make_service, self.make_service, self.make_claim, self.make_claim, self.make_map, self.make_map,
            self.make_widget, self.change_quota, self.remove_quota, self.finish_pod, self.change_service, self.define,
            self.undefine, self.lie,
        ]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as kubelets that end most deleted pods."""
        for pod in await world.client.list(PODS, namespace=NAMESPACE):
            metadata = pod["metadata"]
            if metadata.get("deletionTimestamp") and metadata["labels"]["stuck"] == "no" and world.dice.random() < 0.5:
                await world.client.delete_object(pod, grace_period_seconds=0)

    # Quotas

    def _hard(self, world: World) -> dict[str, str]:
        chosen = world.dice.sample(sorted(AMOUNTS), world.dice.choice([2, 4, 8]))
        return {name: world.dice.choice(AMOUNTS[name]) for name in chosen}

    async def make_quota(self, world: World) -> None:
        if world.dice.random() < 0.4:
            spec = {"hard": {"pods": "20", "requests.cpu": "4", "limits.memory": "10Gi"}, **world.dice.choice(SCOPES)}
        else:
            spec = {"hard": self._hard(world)}
        await self._make(world, QUOTAS, f"q{world.dice.randrange(4)}", spec)

    async def change_quota(self, world: World) -> None:
        quota = await self._any(world, QUOTAS)
        if quota is not None and not {"scopes", "scopeSelector"} & quota["spec"].keys():
            await world.client.update({**quota, "spec": {"hard": self._hard(world)}})

    async def remove_quota(self, world: World) -> None:
        await self._delete(world, QUOTAS)

    async def lie(self, world: World) -> None:
        """Write a wrong status."""
        quota = await self._any(world, QUOTAS)
        if quota is not None:
            status = quota.get("status") or {}
            used = {name: world.dice.choice(["0", "7"]) for name in status.get("hard") or ()}
            await world.client.update_status({**quota, "status": world.dice.choice([{}, {**status, "used": used}])})

    # What is counted

    async def make_pod(self, world: World) -> None:
        dice = world.dice
        resources: dict[str, Any] = {"requests": {}, "limits": {}}
        if dice.random() < 0.8:
            resources["requests"] = {"cpu": dice.choice(["100m", "1"])}
            resources["limits"] = {"cpu": "2", "memory": dice.choice(["64Mi", "512Mi"])}
        if dice.random() < 0.3:
            resources["limits"]["example.com/gpu"] = "1"
        container = {"name": "c", "image": "image", "resources": resources}
        spec: dict[str, Any] = {
            "containers": [container],
            "nodeName": "n1",
            "terminationGracePeriodSeconds": dice.choice([1, 20]),
        }
        if dice.random() < 0.3:
            spec["activeDeadlineSeconds"] = 1000
        if dice.random() < 0.3:
            spec["priorityClassName"] = "high"
        await self._make(world, PODS, "", spec, labels={"stuck": dice.choice(["yes", "no"])})

    async def finish_pod(self, world: World) -> None:
        pod = await self._any(world, PODS)
        if pod is not None:
            status = {"status": {"phase": world.dice.choice(["Succeeded", "Failed"])}}
            await world.client.patch(PODS, pod["metadata"]["name"], status, namespace=NAMESPACE, subresource="status")

    async def make_service(self, world: World) -> None:
        ports = [{"name": f"p{port}", "port": port} for port in world.dice.choice([[80], [80, 81]])]
        await self._make(world, SERVICES, "", {"ports": ports, "type": world.dice.choice(TYPES)})

    async def change_service(self, world: World) -> None:
        service = await self._any(world, SERVICES)
        if service is not None:
            change = {"spec": {"type": world.dice.choice(TYPES)}}
            await world.client.patch(SERVICES, service["metadata"]["name"], change, namespace=NAMESPACE)

    async def make_claim(self, world: World) -> None:
        size = {"requests": {"storage": world.dice.choice(["1Gi", "2Gi"])}}
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": size,
            "storageClassName": world.dice.choice(["fast", "slow"]),
        }
        await self._make(world, CLAIMS, "", spec)

    async def make_map(self, world: World) -> None:
        await self._make(world, MAPS, "", None)

    async def make_widget(self, world: World) -> None:
        if await world.client.list(DEFINITIONS):
            await self._make(world, WIDGETS, "", {})

    async def define(self, world: World) -> None:
        await world.define(WIDGETS)

    async def undefine(self, world: World) -> None:
        await world.client.delete(DEFINITIONS, "widgets.example.com")

    async def remove(self, world: World) -> None:
        await self._delete(world, world.dice.choice([PODS, PODS, SERVICES, CLAIMS, MAPS, WIDGETS]))

    async def _make(self, world: World, resource: Any, name: str, spec: dict[str, Any] | None, **metadata: Any) -> None:
        named = {"name": name} if name else {"generateName": "x"}
        body = {"apiVersion": resource.info.api_version, "kind": resource.info.kind, "metadata": {**named, **metadata}}
        await world.client.create({**body, "spec": spec} if spec is not None else body, namespace=NAMESPACE)

    async def _any(self, world: World, resource: Any) -> dict[str, Any] | None:
        objects = await world.client.list(resource, namespace=NAMESPACE)
        return world.dice.choice(objects) if objects else None

    async def _delete(self, world: World, resource: Any) -> None:
        obj = await self._any(world, resource)
        if obj is not None:
            await world.client.delete_object(obj)

    # What must be

    async def wrong(self, world: World) -> str:
        definitions = await world.client.list(DEFINITIONS)
        served = [SERVICES, CLAIMS, MAPS, QUOTAS, *([WIDGETS] if definitions else [])]
        objects = [obj for resource in served for obj in await world.client.list(resource, namespace=NAMESPACE)]
        others = sum(map(_taken, objects), Counter())
        pods, now = await world.client.list(PODS, namespace=NAMESPACE), world.clock.now()
        for quota in await world.client.list(QUOTAS, namespace=NAMESPACE):
            spec, status = quota["spec"], quota.get("status") or {}
            if status.get("hard") != spec["hard"]:
                return f"{quota['metadata']['name']} does not say what is allowed: {quota}"
            # Resources that are not served cannot be counted.
            names = [name for name in spec["hard"] if definitions or "widgets" not in name]
            reported = {name: parse(status["used"][name]) for name in names if name in status["used"]}
            acceptable = [_used(spec, names, pods, others, at) for at in (now, now - JUST_NOW)]
            if reported not in acceptable:
                return f"{quota['metadata']['name']} ({spec}) says {status['used']}, not {acceptable[0]}"
        return ""


def _used(
    spec: dict[str, Any], names: list[str], pods: list[dict[str, Any]], others: Counter[str], now: datetime
) -> dict[str, Quantity]:
    taken = (_taken_by_pod(pod, now) for pod in pods if _is_in_scope(spec, pod["spec"]))
    total = sum(taken, Counter(others))
    return {name: Quantity.of_milli(total[name]) for name in names}


def _is_in_scope(spec: dict[str, Any], pod: dict[str, Any]) -> bool:
    is_terminating = "activeDeadlineSeconds" in pod
    is_best_effort = "cpu" not in pod["containers"][0]["resources"].get("requests", {})
    holds = {
        "Terminating": is_terminating, "NotTerminating": not is_terminating, "NotBestEffort": not is_best_effort,
        "PriorityClass": pod.get("priorityClassName") == "high",
    }  # fmt: skip
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return all(
        holds[name] for name in [*spec.get("scopes", ()), *(requirement["scopeName"] for requirement in selected)]
    )


def _taken_by_pod(pod: dict[str, Any], now: datetime) -> Counter[str]:
    """Return the usage of a pod; a terminated or long overdue pod counts as an object only."""
    taken = Counter({"count/pods": 1000})
    metadata = pod["metadata"]
    if deleted := metadata.get("deletionTimestamp"):
        overdue = datetime.fromisoformat(deleted) + timedelta(seconds=metadata["deletionGracePeriodSeconds"])
        if now > overdue:
            return taken
    if pod["status"]["phase"] not in ("Succeeded", "Failed"):
        resources = pod["spec"]["containers"][0]["resources"]
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        taken["pods"] = 1000
        taken["cpu"] = taken["requests.cpu"] = THOUSANDTHS[requests["cpu"]] if "cpu" in requests else 0
        taken["limits.memory"] = THOUSANDTHS[limits["memory"]] if "memory" in limits else 0
        taken["requests.example.com/gpu"] = 1000 if "example.com/gpu" in requests else 0
    return taken


def _taken(obj: dict[str, Any]) -> Counter[str]:
    """Return the usage by other objects."""
    match obj:
        case {"kind": "Service", "spec": {"type": type_, "ports": ports}}:
            node_ports = 0 if type_ == "ClusterIP" else len(ports)
            balancers = 1 if type_ == "LoadBalancer" else 0
            taken = {
                "services": 1000,
                "services.nodeports": node_ports * 1000,
                "services.loadbalancers": balancers * 1000,
            }
        case {
            "kind": "PersistentVolumeClaim",
            "spec": {"resources": {"requests": {"storage": size}}, "storageClassName": name},
        }:
            of_class = f"{name}.storageclass.storage.k8s.io/requests.storage"
            taken = {"persistentvolumeclaims": 1000, "requests.storage": THOUSANDTHS[size], of_class: THOUSANDTHS[size]}
        case {"kind": "ConfigMap"}:
            taken = {"configmaps": 1000, "count/configmaps": 1000}
        case {"kind": "Widget"}:
            taken = {"count/widgets.example.com": 1000}
        case _:
            taken = {"resourcequotas": 1000}
    return Counter(taken)
