"""Test helpers: nodes, pods and storage objects, and a scheduler core without a loop."""

from __future__ import annotations

import itertools
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar

from lightkube.models.core_v1 import Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod
from lightkube.models.storage_v1 import StorageClass

from steersman.apimachinery.trees import Tree
from steersman.asynckit.clock import FakeClock
from steersman.scheduler.configuration.settings import Settings
from steersman.scheduler.core import AssumedPod, SchedulerCore, UnschedulablePod
from steersman.scheduler.framework import Extenders
from steersman.scheduler.out_of_tree.handle import SchedulerHandle
from steersman.scheduler.out_of_tree.runtime import make_runtime
from steersman.scheduler.pod_info import PodInfo

T = TypeVar("T")

_uids = itertools.count(1)


def node(name: str, *, cpu: str = "4", memory: str = "8Gi", pods: str = "110", **rest: Any) -> Node:
    labels = {"kubernetes.io/hostname": name, **rest.pop("labels", {})}
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods, **rest.pop("allocatable", {})}
    status = {"allocatable": allocatable, "images": rest.pop("images", [])}
    return Node.from_dict({"metadata": {"name": name, "labels": labels}, "spec": rest, "status": status})


def pod(name: str, *, cpu: str = "", **rest: Any) -> Pod:
    """Return a pod; ``rest``: ``labels``, ``namespace``, ``owner``, ``status`` and fields of the spec."""
    metadata: Tree = {"name": name, "namespace": rest.pop("namespace", "default"), "uid": f"uid-{next(_uids)}"}
    metadata["labels"] = rest.pop("labels", {})
    if "deletionTimestamp" in rest:
        metadata["deletionTimestamp"] = rest.pop("deletionTimestamp")
    if "owner" in rest:
        uid = rest.pop("owner")
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": uid, "uid": uid, "controller": True}
        metadata["ownerReferences"] = [owner]
    status = rest.pop("status", {})
    container: Tree = {"name": "c", "image": "i"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return Pod.from_dict({"metadata": metadata, "spec": {"containers": [container], **rest}, "status": status})


def at(seconds: float) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def run_at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that must not wait: scheduling without extenders."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise AssertionError("it waits")


class World:
    """A scheduler core with a virtual clock in seconds."""

    def __init__(
        self, *nodes: Node, seed: int = 1, settings: Settings | None = None, extenders: Extenders | None = None
    ) -> None:
        self.now = 0.0
        self.clock = FakeClock()
        #: Stands for client and informers, which the plugins of these tests do not use.
        self.client: Any = SimpleNamespace(clock=self.clock)
        settings = settings or Settings()
        self.core = SchedulerCore(
            settings,
            dice=Random(seed),
            monotonic=lambda: self.now,
            now=lambda: at(self.now),
            extenders=extenders,
            make_plugins=lambda profile, core: make_runtime(
                profile, settings.plugins, SchedulerHandle(core, self.client, self.client, wake=int), clock=self.clock
            ),
        )
        self.budgets: list[Any] = []
        for node in nodes:
            self.core.set_node(node)

    def running(self, node_name: str, pod: Pod) -> Pod:
        """Add a pod that is assigned to a node."""
        pod.spec.nodeName = node_name
        self.core.set_assigned_pod(pod)
        return pod

    def add(self, *pods: Pod) -> None:
        for pod in pods:
            self.core.set_pending_pod(PodInfo(pod))

    def schedule_one(self) -> AssumedPod | UnschedulablePod | None:
        return run_at_once(self.core.schedule_one(self.budgets))

    def schedule(self, pod: Pod) -> str:
        """Schedule a new pod and return its node, or the message if it is unschedulable."""
        self.add(pod)
        result = self.schedule_one()
        assert result is not None
        if isinstance(result, AssumedPod):
            self.core.binding_succeeded(result)
            return result.node
        return result.message

    def fail(self, pod: Pod) -> UnschedulablePod:
        self.add(pod)
        result = self.schedule_one()
        assert isinstance(result, UnschedulablePod)
        return result


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace.from_dict({"metadata": {"name": name, "labels": labels}})


def claim(name: str, **spec: Any) -> PersistentVolumeClaim:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if "volumeName" in spec else {}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": annotations}
    return PersistentVolumeClaim.from_dict({"metadata": metadata, "spec": spec, "status": {}})


def volume(name: str, *, size: str = "1Gi", zone: str = "", **spec: Any) -> PersistentVolume:
    if zone:
        terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "storageClassName": "slow", **spec}
    return PersistentVolume.from_dict(
        {"metadata": {"name": name, "labels": spec.pop("labels", {})}, "spec": spec, "status": {"phase": "Available"}}
    )


def storage_class(name: str, *, provisioner: str, waits: bool = True) -> StorageClass:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    return StorageClass.from_dict({"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode})


def mounting(*claims: str) -> list[Tree]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


def near(labels: Tree, key: str = "kubernetes.io/hostname", **rest: Any) -> Tree:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": key, **rest}


def required(kind: str, *terms: Tree) -> Tree:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}
