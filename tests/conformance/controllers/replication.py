"""Scenario of ReplicationControllers and ReplicaSets: the desired number of Pods, no matching orphan."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lightkube.models.apps_v1 import ReplicaSet
from lightkube.models.core_v1 import Pod, ReplicationController
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import labels_of, name_of, uid_of
from steersman.runtime.owners import controller_of
from steersman.workloads.pods import is_active

APPS = ("a", "b")
SIZES = (0, 1, 2, 3, 7)
KINDS = {"v1": ReplicationController, "apps/v1": ReplicaSet}


def template(app: str, **more: str) -> dict[str, Any]:
    container = {"name": "c", "image": "image"}
    return {"metadata": {"labels": {"app": app, **more}}, "spec": {"containers": [container]}}


def pods_of(pods: list[Pod], owner: Any) -> list[Pod]:
    return [pod for pod in pods if (controller := controller_of(pod)) is not None and controller.uid == uid_of(owner)]


class Replication(Scenario):
    """Each app has at most one object that selects its Pods, of either kind."""

    controllers = ("replicationcontroller", "replicaset", "garbagecollector")

    def edits(self) -> Edits:
        return [self.make, self.make, self.scale, self.scale, self.delete_pod, self.relabel, self.add_orphan,
                self.remove, self.finish_pod]  # fmt: skip

    async def live(self, world: World) -> None:
        await world.make_pods_ready()

    async def owners(self, world: World) -> list[Any]:
        return [*await world.all(ReplicationController), *await world.all(ReplicaSet)]

    async def make(self, world: World) -> None:
        app = world.dice.choice(APPS)
        if any(name_of(owner) == app for owner in await self.owners(world)):
            return
        api_version, model = world.dice.choice(list(KINDS.items()))
        selector = {"app": app} if model is ReplicationController else {"matchLabels": {"app": app}}
        spec = {"replicas": world.dice.choice(SIZES), "selector": selector, "template": template(app),
                "minReadySeconds": world.dice.choice([0, 0, 5])}  # fmt: skip
        tree = {"apiVersion": api_version, "kind": model.__name__, "metadata": {"name": app}, "spec": spec}
        await world.client.create(tree, namespace=NAMESPACE)

    async def scale(self, world: World) -> None:
        owners = await self.owners(world)
        if owners:
            owner = world.dice.choice(owners)
            patch = {"spec": {"replicas": world.dice.choice(SIZES)}}
            await world.client.patch(type(owner), name_of(owner), patch, namespace=NAMESPACE)

    async def relabel(self, world: World) -> None:
        pod = await world.any(Pod)
        if pod is not None:
            patch = {"metadata": {"labels": {"app": world.dice.choice([*APPS, "unselected"])}}}
            await world.client.patch(Pod, name_of(pod), patch, namespace=NAMESPACE)

    async def add_orphan(self, world: World) -> None:
        app = world.dice.choice(APPS)
        tree = {"apiVersion": "v1", "kind": "Pod", **template(app)}
        tree["metadata"] = {**tree["metadata"], "generateName": "orphan-"}
        await world.client.create(tree, namespace=NAMESPACE)

    async def remove(self, world: World) -> None:
        owners = await self.owners(world)
        if owners:
            owner = world.dice.choice(owners)
            policy = world.dice.choice(["Orphan", "Background", "Foreground"])
            await world.client.delete(type(owner), name_of(owner), namespace=NAMESPACE, propagation_policy=policy)

    async def finish_pod(self, world: World) -> None:
        pod = await world.any(Pod, is_active)
        if pod is not None:
            await world.set_ready(pod, ready=False, phase=world.dice.choice(["Failed", "Succeeded"]))

    async def wrong(self, world: World) -> str:
        pods, owners = [pod for pod in await world.all(Pod) if is_active(pod)], await self.owners(world)
        for owner in owners:
            fault = self._wrong_with(owner, pods)
            if fault:
                return f"{type(owner).__name__} {name_of(owner)}: {fault}"
        owner_uids = {uid_of(owner) for owner in owners}
        lost = [
            name_of(pod)
            for pod in pods
            if (controller := controller_of(pod)) is not None and controller.uid not in owner_uids
        ]
        return f"pods of owners that are gone: {lost}" if lost else ""

    def _wrong_with(self, owner: Any, pods: list[Pod]) -> str:
        app, expected = name_of(owner), owner.spec.replicas
        mine = pods_of(pods, owner)
        if owner.metadata.deletionTimestamp is not None:
            return "it is still there"
        if len(mine) != expected:
            return f"{len(mine)} pods instead of {expected}"
        strangers = [name_of(pod) for pod in mine if labels_of(pod).get("app") != app]
        orphans = [name_of(pod) for pod in pods if controller_of(pod) is None and labels_of(pod).get("app") == app]
        if strangers or orphans:
            return f"not released: {strangers}, not adopted: {orphans}"
        status = owner.status
        reported = (
            status.replicas,
            status.readyReplicas or 0,
            status.availableReplicas or 0,
            status.observedGeneration,
        )
        if reported != (expected, expected, expected, owner.metadata.generation) or status.conditions:
            return f"its status says {status} of {Counter(pod.status.phase for pod in mine)}"
        return ""
