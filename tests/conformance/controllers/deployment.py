"""Scenario of Deployments: finally every Pod has the last template, and the history limit holds."""

from __future__ import annotations

from typing import Any

from lightkube.models import apps_v1
from lightkube.models.core_v1 import Pod
from tests.conformance.controllers.replication import pods_of, template
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import labels_of, name_of
from steersman.controllers.deployment.revisions import same_template
from steersman.workloads.pods import is_active

NAMES = ("a", "b")
SIZES = (0, 1, 2, 4, 9)
HISTORY = 2
STRATEGIES: tuple[dict[str, Any], ...] = (
    {"type": "Recreate", "rollingUpdate": None},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "30%", "maxUnavailable": "30%"}},
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}},
)


class Deployment(Scenario):
    """Users change templates, sizes and strategies, pause, and damage ReplicaSets and Pods."""

    controllers = ("deployment", "replicaset", "garbagecollector")

    def edits(self) -> Edits:
        return [self.make, self.make, self.change_template, self.change_template, self.scale,
                self.change_strategy, self.pause, self.resume, self.remove, self.scale_set,
                self.remove_set, self.release_set, self.delete_pod]  # fmt: skip

    async def live(self, world: World) -> None:
        await world.make_pods_ready()

    async def _patch(self, world: World, spec: dict[str, Any]) -> None:
        deployment = await world.any(apps_v1.Deployment)
        if deployment is not None:
            await world.client.patch(apps_v1.Deployment, name_of(deployment), {"spec": spec}, namespace=NAMESPACE)

    async def make(self, world: World) -> None:
        name = world.dice.choice(NAMES)
        spec = {"replicas": world.dice.choice(SIZES), "selector": {"matchLabels": {"app": name}},
                "template": template(name, v="1"), "strategy": world.dice.choice(STRATEGIES),
                "revisionHistoryLimit": HISTORY, "minReadySeconds": world.dice.choice([0, 0, 3])}  # fmt: skip
        tree = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
        await world.client.create(tree, namespace=NAMESPACE)

    async def change_template(self, world: World) -> None:
        await self._patch(world, {"template": {"metadata": {"labels": {"v": world.dice.choice("12345")}}}})

    async def scale(self, world: World) -> None:
        await self._patch(world, {"replicas": world.dice.choice(SIZES)})

    async def change_strategy(self, world: World) -> None:
        await self._patch(world, {"strategy": world.dice.choice(STRATEGIES)})

    async def pause(self, world: World) -> None:
        await self._patch(world, {"paused": True})

    async def resume(self, world: World) -> None:
        await self._patch(world, {"paused": None})

    async def remove(self, world: World) -> None:
        deployment = await world.any(apps_v1.Deployment)
        if deployment is not None:
            policy = world.dice.choice(["Background", "Foreground"])
            await world.client.delete_object(deployment, propagation_policy=policy)

    async def scale_set(self, world: World) -> None:
        replica_set = await world.any(apps_v1.ReplicaSet)
        if replica_set is not None:
            patch = {"spec": {"replicas": world.dice.choice(SIZES)}}
            await world.client.patch(apps_v1.ReplicaSet, name_of(replica_set), patch, namespace=NAMESPACE)

    async def remove_set(self, world: World) -> None:
        replica_set = await world.any(apps_v1.ReplicaSet)
        if replica_set is not None:
            await world.client.delete_object(replica_set, propagation_policy="Background")

    async def release_set(self, world: World) -> None:
        """Remove a label of a ReplicaSet, sometimes temporarily."""
        replica_set = await world.any(apps_v1.ReplicaSet)
        if replica_set is not None:
            patch = {"metadata": {"labels": {"app": world.dice.choice([*NAMES, "x"])}}}
            await world.client.patch(apps_v1.ReplicaSet, name_of(replica_set), patch, namespace=NAMESPACE)

    async def wrong(self, world: World) -> str:
        pods = [pod for pod in await world.all(Pod) if is_active(pod)]
        sets = await world.all(apps_v1.ReplicaSet)
        for deployment in await world.all(apps_v1.Deployment):
            if deployment.spec.paused:
                await world.client.patch(
                    apps_v1.Deployment, name_of(deployment), {"spec": {"paused": None}}, namespace=NAMESPACE
                )
                return "paused"
            fault = self._wrong_with(deployment, [rs for rs in sets if pods_of([rs], deployment)], pods)
            orphans = [name_of(rs) for rs in sets if not rs.metadata.ownerReferences
                       and labels_of(rs).get("app") == name_of(deployment)]  # fmt: skip
            if fault or orphans:
                return f"{name_of(deployment)}: {fault} {orphans}"
        return ""

    def _wrong_with(self, deployment: apps_v1.Deployment, sets: list[apps_v1.ReplicaSet], pods: list[Pod]) -> str:
        expected = deployment.spec.replicas
        if deployment.metadata.deletionTimestamp is not None:
            return "it is still there"
        sizes = {name_of(rs): rs.spec.replicas for rs in sets}
        new = [rs for rs in sets if same_template(rs.spec.template, deployment.spec.template)]
        if not new or sum(sizes.values()) != expected or max((rs.spec.replicas for rs in new), default=0) != expected:
            return f"sizes {sizes} instead of {expected}, new {[name_of(rs) for rs in new]}"
        mine = [pod for rs in new for pod in pods_of(pods, rs)]
        if len(mine) != expected:
            return f"{len(mine)} pods instead of {expected}"
        if len(sets) - 1 > HISTORY:
            return f"history of {len(sets) - 1}"
        status = deployment.status
        reported = [status.replicas, status.updatedReplicas, status.readyReplicas, status.availableReplicas]
        reasons = {condition.type: condition.reason for condition in status.conditions or ()}
        well = {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
        if [count or 0 for count in reported] != [expected] * 4 or reasons != well:
            return f"its status says {status}"
        return ""
