"""Scenario of StatefulSets: Pods of all ordinals and no others, of the last template, each with its claims."""

from __future__ import annotations

from typing import Any

from lightkube.models import apps_v1
from lightkube.models.core_v1 import PersistentVolumeClaim, Pod
from tests.conformance.controllers.replication import pods_of, template
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import labels_of, name_of, uid_of
from steersman.controllers.statefulset import identity
from steersman.runtime.owners import controller_of, owners_of
from steersman.workloads.pods import is_active
from steersman.workloads.revisions import template_data

NAMES = ("a", "b")
SIZES = (0, 1, 2, 4)
HISTORY = 1


class Statefulset(Scenario):
    """Users change templates, sizes and ordinals, and damage Pods, claims and revisions."""

    controllers = ("statefulset", "garbagecollector")

    def edits(self) -> Edits:
        return [self.make, self.make, self.change_template, self.change_template, self.scale,
                self.scale, self.move, self.change_retention, self.remove, self.delete_pod,
                self.fail_pod, self.spoil_pod, self.lose_claim, self.lose_revision]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as kubelet, and delete released Pods that block a name."""
        for pod in await world.all(Pod):
            if not labels_of(pod).get("app") and controller_of(pod) is None:
                await world.client.delete(Pod, name_of(pod), namespace=NAMESPACE)
            elif is_active(pod) and world.dice.random() < 0.5:
                await world.set_ready(pod)

    async def make(self, world: World) -> None:
        dice, name = world.dice, world.dice.choice(NAMES)
        claim = {"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "c", "resources": {"requests": {"storage": "1Gi"}}}}  # fmt: skip
        spec = {"replicas": dice.choice(SIZES), "selector": {"matchLabels": {"app": name}}, "serviceName": name,
                "template": template(name, v="1"), "revisionHistoryLimit": HISTORY, "volumeClaimTemplates": [claim],
                "podManagementPolicy": dice.choice(["OrderedReady", "Parallel"]),
                "minReadySeconds": dice.choice([0, 0, 3])}  # fmt: skip
        tree = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}
        await world.client.create(tree, namespace=NAMESPACE)

    async def _patch(self, world: World, spec: dict[str, Any]) -> None:
        sts = await world.any(apps_v1.StatefulSet)
        if sts is not None:
            await world.client.patch(apps_v1.StatefulSet, name_of(sts), {"spec": spec}, namespace=NAMESPACE)

    async def change_template(self, world: World) -> None:
        await self._patch(world, {"template": {"metadata": {"labels": {"v": world.dice.choice("1234")}}}})

    async def scale(self, world: World) -> None:
        await self._patch(world, {"replicas": world.dice.choice(SIZES)})

    async def move(self, world: World) -> None:
        await self._patch(world, {"ordinals": {"start": world.dice.choice([0, 1, 3])}})

    async def change_retention(self, world: World) -> None:
        policy = {key: world.dice.choice(["Retain", "Delete"]) for key in ("whenDeleted", "whenScaled")}
        await self._patch(world, {"persistentVolumeClaimRetentionPolicy": policy})

    async def remove(self, world: World) -> None:
        sts = await world.any(apps_v1.StatefulSet)
        if sts is not None:
            policy = world.dice.choice(["Background", "Foreground", "Orphan"])
            await world.client.delete_object(sts, propagation_policy=policy)

    async def fail_pod(self, world: World) -> None:
        pod = await world.any(Pod, is_active)
        if pod is not None:
            await world.set_ready(pod, ready=False, phase=world.dice.choice(["Failed", "Succeeded"]))

    async def spoil_pod(self, world: World) -> None:
        pod = await world.any(Pod)
        if pod is not None:
            labels = {world.dice.choice(["app", identity.POD_NAME]): None}
            await world.client.patch(Pod, name_of(pod), {"metadata": {"labels": labels}}, namespace=NAMESPACE)

    async def lose_claim(self, world: World) -> None:
        await world.delete_any(PersistentVolumeClaim)

    async def lose_revision(self, world: World) -> None:
        await world.delete_any(apps_v1.ControllerRevision)

    async def wrong(self, world: World) -> str:
        pods, revisions = await world.all(Pod), await world.all(apps_v1.ControllerRevision)
        claims = {name_of(claim): claim for claim in await world.all(PersistentVolumeClaim)}
        # The protection controller, which does not run here, would remove the finalizer of unused claims.
        for claim in claims.values():
            if claim.metadata.deletionTimestamp is not None and claim.metadata.finalizers:
                patch = {"metadata": {"finalizers": None}}
                await world.client.patch(PersistentVolumeClaim, name_of(claim), patch, namespace=NAMESPACE)
                return f"claim {name_of(claim)} is on its way out"
        for sts in await world.all(apps_v1.StatefulSet):
            mine = [revision for revision in revisions if pods_of([revision], sts)]
            fault = self._wrong_with(sts, pods_of(pods, sts), mine) or self._wrong_claims(sts, pods, claims)
            if fault:
                return f"{name_of(sts)}: {fault}"
        return ""

    def _wrong_with(
        self, sts: apps_v1.StatefulSet, pods: list[Pod], revisions: list[apps_v1.ControllerRevision]
    ) -> str:
        if sts.metadata.deletionTimestamp is not None:
            return "it is still there"
        expected = sorted(identity.pod_name(sts, ordinal) for ordinal in identity.ordinals(sts))
        if sorted(map(name_of, pods)) != expected or not all(map(is_active, pods)):
            return f"pods {sorted(map(name_of, pods))} instead of {expected}"
        present = [revision for revision in revisions if revision.data == template_data(sts.spec.template)]
        if not present or len(revisions) > HISTORY + 2:
            return f"revisions {[(name_of(present_revision), present_revision.revision) for present_revision in revisions]}"
        new = max(present, key=lambda revision: revision.revision)
        old = [name_of(pod) for pod in pods if labels_of(pod).get("v") != labels_of(sts.spec.template).get("v")]
        spoiled = [name_of(pod) for pod in pods if not identity.has_identity(pod)]
        if old or spoiled:
            return f"old pods {old}, spoiled pods {spoiled}"
        status, count = sts.status, len(expected)
        reported = [status.replicas, status.readyReplicas, status.availableReplicas, status.currentReplicas,
                status.updatedReplicas]  # fmt: skip
        revision = name_of(new)
        if [count_reported or 0 for count_reported in reported] != [count] * 5 or {
            status.currentRevision,
            status.updateRevision,
        } != {revision}:
            return f"its status says {status}, the revision is {revision}"
        return ""

    def _wrong_claims(self, sts: apps_v1.StatefulSet, pods: list[Pod], claims: dict[str, PersistentVolumeClaim]) -> str:
        goes = sts.spec.persistentVolumeClaimRetentionPolicy.whenDeleted == "Delete"
        for pod in pods_of(pods, sts):
            claim = claims.get(f"data-{name_of(pod)}")
            if claim is not None and [owner.uid for owner in owners_of(claim)] != ([uid_of(sts)] if goes else []):
                return f"claim {name_of(claim)} has owners {owners_of(claim)}"
        return ""
