"""Workloads for fault campaigns: what is created and rolled out, and what must hold during the rollout and at the end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.waits import is_ready

from steersman.apimachinery.trees import Tree
from steersman.client import tree
from steersman.client.objects import name_of, uid_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.client import Client


NAMESPACE = "default"
DEPLOYMENTS, STATEFULSETS = tree("apps/v1", "Deployment"), tree("apps/v1", "StatefulSet")
REPLICASETS, JOBS, PODS = tree("apps/v1", "ReplicaSet"), tree("batch/v1", "Job"), tree("v1", "Pod")
#: Controllers that the workloads need.
CONTROLLERS = (
    "deployment-controller", "replicaset-controller", "job-controller", "statefulset-controller",
    "garbage-collector-controller", "node-lifecycle-controller", "pod-garbage-collector-controller",
)  # fmt: skip
REPLICAS, MAX_SURGE, MAX_UNAVAILABLE = 50, 10, 5
COMPLETIONS, MEMBERS = 20, 4
BEFORE, AFTER = "registry.example/app:1", "registry.example/app:2"


def template(app: str, **spec: Any) -> Tree:
    """Return a pod template with one container."""
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": BEFORE}], "automountServiceAccountToken": False, **spec},
    }


def deployment(name: str, replicas: int) -> Tree:
    """Return a Deployment with the limits of ``RolloutLimits``."""
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name),
            "strategy": {"rollingUpdate": {"maxSurge": MAX_SURGE, "maxUnavailable": MAX_UNAVAILABLE}},
        },
    }  # fmt: skip


def stateful_set(name: str) -> Tree:
    """Return a StatefulSet with ordered pods."""
    return {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"replicas": MEMBERS, "serviceName": name, "selector": {"matchLabels": {"app": name}},
                 "template": template(name)},
    }  # fmt: skip


def job(name: str) -> Tree:
    """Return a Job with more completions than parallel pods."""
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"completions": COMPLETIONS, "parallelism": 8, "backoffLimit": 100,
                 "template": template(name, restartPolicy="Never")},
    }  # fmt: skip


class RolloutLimits:
    """Checks ``maxSurge`` and ``maxUnavailable`` of a Deployment at each change of its ReplicaSets and Pods.

    ``maxSurge`` bounds the sum of ``spec.replicas``, as upstream's Deployment controller does: Pods of an old ReplicaSet
    whose deletion is refused exist for longer.
    """

    def __init__(self, app: str) -> None:
        self._app = app
        self._objects: dict[str, dict[str, Tree]] = {"Pod": {}, "ReplicaSet": {}}
        #: True from the start of the rollout, when all replicas are available.
        self.is_checked = False
        self.checked = 0
        self.violations: set[str] = set()

    def observe(self, event: str, obj: Tree) -> None:
        """Take one event of a watch of ReplicaSets or Pods."""
        if (obj["metadata"].get("labels") or {}).get("app") != self._app:
            return
        objects = self._objects[obj["kind"]]
        if event == "DELETED":
            objects.pop(uid_of(obj), None)
        else:
            objects[uid_of(obj)] = obj
        if self.is_checked:
            self._check()

    def _check(self) -> None:
        self.checked += 1
        active = [pod for pod in self._objects["Pod"].values() if "deletionTimestamp" not in pod["metadata"]]
        for owner, count in Counter(pod["metadata"]["ownerReferences"][0]["uid"] for pod in active).items():
            if count > REPLICAS:
                self.violations.add(f"ReplicaSet {owner} has {count} pods")
        ready = sum(is_ready(pod) for pod in active)
        if ready < REPLICAS - MAX_UNAVAILABLE:
            self.violations.add(f"{ready} pods are ready, at least {REPLICAS - MAX_UNAVAILABLE} must be")
        size = sum(replica_set["spec"]["replicas"] for replica_set in self._objects["ReplicaSet"].values())
        if size > REPLICAS + MAX_SURGE:
            self.violations.add(f"ReplicaSets have {size} replicas, at most {REPLICAS + MAX_SURGE} are allowed")


class Workloads:
    """A Deployment that is rolled out, one that is deleted, a Job and a StatefulSet, through a client without faults."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self) -> None:
        """Create everything but the Job."""
        for workload in (deployment("web", REPLICAS), deployment("removed", 10), stateful_set("db")):
            await self._client.create(workload)

    async def roll_out(self) -> None:
        """Change the templates, start the Job and delete the other Deployment."""
        image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": AFTER}]}}}}
        await self._client.patch(DEPLOYMENTS, "web", image, namespace=NAMESPACE)
        await self._client.patch(STATEFULSETS, "db", image, namespace=NAMESPACE)
        await self._client.create(job("batch"))
        await self._client.delete(DEPLOYMENTS, "removed", namespace=NAMESPACE, propagation_policy="Background")

    async def not_available(self) -> str:
        """Return why the first template is not rolled out; empty when it is."""
        return "; ".join([*await self._sets_behind(BEFORE)])

    async def not_converged(self) -> str:
        """Return what is not as the specs say after ``roll_out``; empty when everything is."""
        faults = [*await self._sets_behind(AFTER)]
        batch = await self._client.get(JOBS, "batch", namespace=NAMESPACE)
        status = batch.get("status") or {}
        complete = [condition for condition in status.get("conditions") or () if condition["type"] == "Complete"]
        if not complete or status.get("succeeded", 0) < COMPLETIONS or status.get("active"):
            faults.append(f"job: {status}")
        pods = await self._client.list(PODS, namespace=NAMESPACE)
        faults += [f"pod {name_of(pod)} is terminating" for pod in pods if "deletionTimestamp" in pod["metadata"]]
        faults += [f"pod {name_of(pod)} is left over" for pod in pods if pod["metadata"]["labels"]["app"] == "removed"]
        return "; ".join(faults)

    async def _sets_behind(self, image: str) -> Iterator[str]:
        pods = await self._client.list(PODS, namespace=NAMESPACE)
        web = await self._client.get(DEPLOYMENTS, "web", namespace=NAMESPACE)
        database = await self._client.get(STATEFULSETS, "db", namespace=NAMESPACE)
        behind = [f"deployment: {key}" for key in _behind(web, "updatedReplicas", "availableReplicas")]
        behind += [f"statefulset: {key}" for key in _behind(database, "updatedReplicas", "readyReplicas")]
        for app, count in (("web", REPLICAS), ("db", MEMBERS)):
            good = [pod for pod in pods if _is_good(pod, app, image)]
            others = [name_of(pod) for pod in pods if pod["metadata"]["labels"]["app"] == app and pod not in good]
            if len(good) != count or others:
                behind.append(f"{app}: {len(good)} pods are ready, {others} are not")
        return iter(behind)


def _behind(owner: Tree, *counts: str) -> list[str]:
    status = owner.get("status") or {}
    behind = [f"{key} is {status.get(key)}" for key in counts if status.get(key) != owner["spec"]["replicas"]]
    if status.get("observedGeneration") != owner["metadata"]["generation"]:
        behind.append("the status is of an earlier generation")
    return behind


def _is_good(pod: Tree, app: str, image: str) -> bool:
    return (
        pod["metadata"]["labels"]["app"] == app
        and pod["spec"]["containers"][0]["image"] == image
        and "deletionTimestamp" not in pod["metadata"]
        and is_ready(pod)
    )
