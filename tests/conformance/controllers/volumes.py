"""Scenario of volumes and claims: one claim per volume, and no claim waits while a volume is free."""

from __future__ import annotations

from typing import Any

from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim, Pod
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import metadata_field, name_of, namespace_of, uid_of
from steersman.controllers.persistentvolume.matching import best_volume

SIZES = ("1Gi", "2Gi", "5Gi")


class Volumes(Scenario):
    """A few of each, with all policies, deleted and recreated; recyclers run."""

    controllers = (
        "persistentvolume-binder-controller",
        "persistentvolume-protection-controller",
        "persistentvolumeclaim-protection-controller",
    )

    def edits(self) -> Edits:
        return [self.make_volume, self.make_volume, self.make_claim, self.make_claim, self.remove_claim,
                self.remove_volume, self.free]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as kubelets that run recyclers."""
        for pod in await world.all(Pod):
            phase = pod.status.phase if pod.status else ""
            if name_of(pod).startswith("recycler-for-") and phase == "Pending" and world.dice.random() < 0.5:
                status = {"status": {"phase": world.dice.choice(["Succeeded", "Succeeded", "Failed"])}}
                await world.client.patch(Pod, name_of(pod), status, namespace=NAMESPACE, subresource="status")
            elif metadata_field(pod, "deletionTimestamp"):
                await world.client.delete(Pod, name_of(pod), namespace=NAMESPACE, grace_period_seconds=0)

    async def make_volume(self, world: World) -> None:
        dice = world.dice
        spec: dict[str, Any] = {
            "capacity": {"storage": dice.choice(SIZES)}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "hostPath": {"path": "/tmp/x"},
            "persistentVolumeReclaimPolicy": dice.choice(["Retain", "Delete", "Recycle"]),
        }  # fmt: skip
        if dice.random() < 0.2:
            spec["claimRef"] = {"namespace": NAMESPACE, "name": f"c{dice.randrange(4)}"}
        metadata = {"name": f"v{dice.randrange(5)}"}
        await world.client.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec})

    async def make_claim(self, world: World) -> None:
        dice = world.dice
        spec: dict[str, Any] = {
            "resources": {"requests": {"storage": dice.choice(SIZES)}}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
        }  # fmt: skip
        if dice.random() < 0.2:
            spec["volumeName"] = f"v{dice.randrange(5)}"
        metadata = {"name": f"c{dice.randrange(4)}", "namespace": NAMESPACE}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
        await world.client.create(claim)

    async def remove_claim(self, world: World) -> None:
        await world.delete_any(PersistentVolumeClaim)

    async def remove_volume(self, world: World) -> None:
        volumes = await world.client.list(PersistentVolume)
        if volumes:
            await world.client.delete(PersistentVolume, name_of(world.dice.choice(volumes)))

    async def free(self, world: World) -> None:
        """Remove ``claimRef``, as an administrator does."""
        for volume in await world.client.list(PersistentVolume):
            if volume.status and volume.status.phase == "Released":
                await world.client.patch(PersistentVolume, name_of(volume), {"spec": {"claimRef": None}})

    async def wrong(self, world: World) -> str:
        volumes = {name_of(volume): volume for volume in await world.client.list(PersistentVolume)}
        claims = {uid_of(claim): claim for claim in await world.all(PersistentVolumeClaim)}
        for claim in claims.values():
            reported = self._wrong_claim(claim, volumes)
            if reported:
                return f"{name_of(claim)}: {reported}"
        for volume in volumes.values():
            reported = self._wrong_volume(volume, claims)
            if reported:
                return f"{name_of(volume)}: {reported}"
        return ""

    def _wrong_claim(self, claim: Any, volumes: dict[str, Any]) -> str:
        if metadata_field(claim, "deletionTimestamp"):
            return "it is still being deleted"
        phase, volume = claim.status.phase, volumes.get(claim.spec.volumeName or "")
        if phase == "Bound":
            reference = volume.spec.claimRef if volume else None
            return "" if reference and reference.uid == uid_of(claim) else "bound, but not to its volume"
        if phase == "Pending" and not claim.spec.volumeName:
            free = best_volume(claim, volumes.values(), delayed=False)
            return f"waits while {name_of(free)} is free" if free else ""
        return ""

    def _wrong_volume(self, volume: Any, claims: dict[str, Any]) -> str:
        phase, reference = volume.status.phase, volume.spec.claimRef
        claim = claims.get(reference.uid) if reference and reference.uid else None
        if phase == "Bound" and (claim is None or claim.spec.volumeName != name_of(volume)):
            return "bound without a claim"
        if phase == "Available" and reference and reference.uid:
            return "available, but promised"
        if phase == "Pending":
            return "not processed"
        if metadata_field(volume, "deletionTimestamp") and phase != "Bound":
            return f"it is still being deleted, {phase}"
        if phase == "Released" and volume.spec.persistentVolumeReclaimPolicy != "Retain":
            return f"not reclaimed: {namespace_of(volume)}{volume.spec.persistentVolumeReclaimPolicy}"
        return ""
