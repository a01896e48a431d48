"""Scenario of protected objects: claims, volumes and classes are kept exactly while they are in use."""

from __future__ import annotations

from typing import Any

from lightkube.models.core_v1 import Event, PersistentVolume, PersistentVolumeClaim, Pod
from lightkube.models.storage_v1 import VolumeAttributesClass
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.apimachinery.quantity import parse
from steersman.client.objects import metadata_field, name_of, uid_of
from steersman.runtime.finalizers import has_finalizer
from steersman.workloads.pods import is_finished, node_of

CLASSES = ("gold", "silver")
COUNT = 3
PODS = 5
_CLASS_FINALIZER = "kubernetes.io/vac-protection"
_FINALIZERS = ("kubernetes.io/pvc-protection", "kubernetes.io/pv-protection", _CLASS_FINALIZER)


class Protection(Scenario):
    """Objects are deleted at random, used or not; claims grow, and drivers are slow."""

    controllers = ("persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller",
                   "volumeattributesclass-protection-controller", "persistentvolume-expander-controller")  # fmt: skip

    def __init__(self) -> None:
        #: By UID of an object in use: its name, and the UIDs of its users.
        self._used: dict[str, tuple[str, set[str]]] = {}
        #: Objects that were deleted while in use.
        self._lost: set[str] = set()
        self._is_restarted = False

    async def prepare(self, world: World) -> None:
        body = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "grows"}}
        await world.client.create({**body, "provisioner": "d.example.com", "allowVolumeExpansion": True})

    def edits(self) -> Edits:
        return [self.make_class, self.make_class, self.remove_class, self.make_claim, self.make_claim,
                self.remove_claim, self.remove_volume, self.make_pod, self.make_pod, self.assign,
                self.terminate_pod, self.end_pod, self.grow, self.grow, self.change_class]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as kubelets, which end deleted pods, as binder and as drivers."""
        await self._watch(world)
        for pod in await world.all(Pod):
            if metadata_field(pod, "deletionTimestamp"):
                await world.client.delete_object(pod, grace_period_seconds=0)
        claims = {uid_of(claim): claim for claim in await world.all(PersistentVolumeClaim)}
        for volume in await world.client.list(PersistentVolume):
            if volume.spec.claimRef.uid not in claims and volume.status.phase != "Released":
                await self._say(world, PersistentVolume, name_of(volume), {"phase": "Released"})

    async def _say(self, world: World, model: Any, name: str, status: dict[str, Any]) -> None:
        namespace = NAMESPACE if model is PersistentVolumeClaim else None
        await world.client.patch(model, name, {"status": status}, namespace=namespace, subresource="status")

    # Who uses what

    async def _watch(self, world: World) -> None:
        """Check that no object was deleted while in use."""
        claims, volumes = await world.all(PersistentVolumeClaim), await world.client.list(PersistentVolume)
        classes, pods = await world.client.list(VolumeAttributesClass), await world.all(Pod)
        users = {uid_of(user) for user in [*claims, *volumes, *(pod for pod in pods if node_of(pod))]}
        existing_uids = {uid_of(existing) for existing in [*claims, *volumes, *classes]}
        self._lost |= {name for uid, (name, of) in self._used.items() if uid not in existing_uids and of & users}
        self._used = {
            uid: (name, of & users) for uid, (name, of) in self._used.items() if uid in existing_uids and of & users
        }
        for claim in claims:
            self._note(claim, [pod for pod in pods if name_of(claim) in _claims_of(pod) and node_of(pod)])
        for volume in volumes:
            held_by = [claim for claim in claims if volume.spec.claimRef.uid == uid_of(claim)]
            self._note(volume, held_by if volume.status.phase == "Bound" else [])
        for attributes_class in classes:
            if has_finalizer(attributes_class, _CLASS_FINALIZER):
                self._note(
                    attributes_class,
                    [user for user in [*claims, *volumes] if name_of(attributes_class) in _classes_of(user)],
                )

    def _note(self, used: Any, users: list[Any]) -> None:
        """Record the users of an object; users from after its deletion do not count."""
        if users and not metadata_field(used, "deletionTimestamp"):
            _, classes = self._used.setdefault(uid_of(used), (name_of(used), set()))
            classes.update(map(uid_of, users))

    # Classes, claims and volumes

    async def make_class(self, world: World) -> None:
        body = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass",
                "metadata": {"name": world.dice.choice(CLASSES)}, "parameters": {"iops": "1"}}  # fmt: skip
        await world.client.create({**body, "driverName": "d.example.com"})

    async def remove_class(self, world: World) -> None:
        await world.client.delete(VolumeAttributesClass, world.dice.choice(CLASSES))

    async def make_claim(self, world: World) -> None:
        """Create a bound claim with its volume."""
        number, of = world.dice.randrange(COUNT), world.dice.choice([None, *CLASSES])
        common: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "storageClassName": "grows",
                                  "volumeAttributesClassName": of}  # fmt: skip
        spec = {**common, "volumeName": f"v{number}", "resources": {"requests": {"storage": "1Gi"}}}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"c{number}"}, "spec": spec}
        created = await world.client.create(claim, namespace=NAMESPACE)
        reference = {"namespace": NAMESPACE, "name": f"c{number}", "uid": uid_of(created)}
        spec = {**common, "capacity": {"storage": "1Gi"}, "claimRef": reference,
                "csi": {"driver": "d.example.com", "volumeHandle": f"h{number}"}}  # fmt: skip
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"v{number}"}, "spec": spec}
        await world.client.create(volume)
        await self._say(world, PersistentVolume, f"v{number}", {"phase": "Bound"})
        status = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "currentVolumeAttributesClassName": of}
        await self._say(world, PersistentVolumeClaim, f"c{number}", status)

    async def remove_claim(self, world: World) -> None:
        await world.client.delete(PersistentVolumeClaim, f"c{world.dice.randrange(COUNT)}", namespace=NAMESPACE)

    async def remove_volume(self, world: World) -> None:
        await world.client.delete(PersistentVolume, f"v{world.dice.randrange(COUNT)}")

    async def change_class(self, world: World) -> None:
        """Set another attributes class, with the driver's immediate effect."""
        claim = await world.any(PersistentVolumeClaim)
        if claim is None:
            return
        of = world.dice.choice(CLASSES)
        patch = {"spec": {"volumeAttributesClassName": of}}
        await world.client.patch(PersistentVolumeClaim, name_of(claim), patch, namespace=NAMESPACE)
        await self._say(world, PersistentVolumeClaim, name_of(claim), {"currentVolumeAttributesClassName": of})
        volume = await world.client.get(PersistentVolume, claim.spec.volumeName)
        for name, users in self._used.values():
            if name in CLASSES:
                users -= {uid_of(claim), uid_of(volume)}
        await world.client.patch(PersistentVolume, claim.spec.volumeName, patch)

    async def grow(self, world: World) -> None:
        """Request more storage for a claim, or grant the request."""
        claim = await world.any(PersistentVolumeClaim)
        if claim is None:
            return
        if _wants_more(claim):
            size = claim.spec.resources.requests["storage"]
            await self._say(world, PersistentVolumeClaim, name_of(claim), {"capacity": {"storage": size}})
            return
        size = f"{int(parse(str(claim.spec.resources.requests['storage'])).milli // 1000 // 2**30) + 1}Gi"
        patch = {"spec": {"resources": {"requests": {"storage": size}}}}
        await world.client.patch(PersistentVolumeClaim, name_of(claim), patch, namespace=NAMESPACE)

    # Pods

    async def make_pod(self, world: World) -> None:
        chosen = world.dice.sample(range(COUNT), world.dice.choice([1, 2]))
        volumes = [{"name": f"v{number}", "persistentVolumeClaim": {"claimName": f"c{number}"}} for number in chosen]
        spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}
        spec |= {"nodeName": "n"} if world.dice.random() < 0.5 else {}
        metadata = {"name": f"p{world.dice.randrange(PODS)}"}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)

    async def assign(self, world: World) -> None:
        pod = await world.any(Pod, lambda pod: not node_of(pod))
        if pod is not None:
            await world.bind(pod, "n")

    async def end_pod(self, world: World) -> None:
        pod = await world.any(Pod, lambda pod: not is_finished(pod))
        if pod is not None:
            await world.set_ready(pod, ready=False, phase="Succeeded")

    # What must be so

    async def wrong(self, world: World) -> str:
        if not self._is_restarted:  # events of rejected requests may be lost, as upstream
            self._is_restarted = True
            await world.restart()
        await self._watch(world)
        if self._lost:
            return f"{sorted(self._lost)} went while they were in use"
        claims, volumes = await world.all(PersistentVolumeClaim), await world.client.list(PersistentVolume)
        for obj in (*claims, *volumes, *await world.client.list(VolumeAttributesClass)):
            if not any(has_finalizer(obj, finalizer) for finalizer in _FINALIZERS):
                return f"{name_of(obj)} is not protected"
            if metadata_field(obj, "deletionTimestamp") and not await self._is_used(world, obj):
                return f"{name_of(obj)} still exists, unused"
        reported = {(event.involvedObject.uid, event.reason) for event in await world.all(Event)}
        for claim in claims:
            if (
                _wants_more(claim)
                and _is_bound(claim, volumes)
                and (uid_of(claim), "ExternalExpanding") not in reported
            ):
                return f"{name_of(claim)} should grow, without an event"
        return ""

    async def _is_used(self, world: World, obj: Any) -> bool:
        if isinstance(obj, PersistentVolumeClaim):
            return any(name_of(obj) in _claims_of(pod) and node_of(pod) for pod in await world.all(Pod))
        if isinstance(obj, PersistentVolume):
            return bool(obj.status.phase == "Bound")
        users = [*await world.all(PersistentVolumeClaim), *await world.client.list(PersistentVolume)]
        return any(name_of(obj) in _classes_of(user) for user in users)


def _claims_of(pod: Pod) -> set[str]:
    claims = [volume.persistentVolumeClaim for volume in pod.spec.volumes or ()]
    return {claim.claimName for claim in claims if claim is not None}


def _classes_of(obj: Any) -> set[str]:
    return {obj.spec.volumeAttributesClassName, getattr(obj.status, "currentVolumeAttributesClassName", None)}


def _wants_more(claim: PersistentVolumeClaim) -> bool:
    has = (claim.status.capacity or {}).get("storage", "0")
    is_short = parse(str(claim.spec.resources.requests["storage"])) > parse(str(has))
    return bool(claim.status.phase == "Bound") and is_short


def _is_bound(claim: PersistentVolumeClaim, volumes: list[PersistentVolume]) -> bool:
    return any(
        name_of(volume) == claim.spec.volumeName and volume.spec.claimRef.uid == uid_of(claim) for volume in volumes
    )
