"""Provisioner and resizer of the simulated StorageClass: creates, expands and deletes PersistentVolumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.client import tree
from steersman.client.errors import AlreadyExists, ClientError, NotFound
from steersman.client.objects import key_of, name_of, namespace_of, split_key, uid_of
from steersman.client.requests import PatchType
from steersman.nodes import volumes
from steersman.runtime.controller import Controller

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.runtime.context import ControllerContext


CLAIMS: Final = tree("v1", "PersistentVolumeClaim")
VOLUMES: Final = tree("v1", "PersistentVolume")
CLASSES: Final = tree("storage.k8s.io/v1", "StorageClass")
_WORKERS: Final = 8


class SimulatedStorage(Controller):
    """Controller of claims and volumes of the simulated StorageClass, as external-provisioner and external-resizer.

    Keys of claims are ``namespace/name``; keys of volumes have no slash.
    """

    name: ClassVar[str] = "simulated-storage"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=_WORKERS)
        self._recorder = context.events.recorder(volumes.PROVISIONER)
        self._claims = self.watch(CLAIMS)
        self._volumes = self.watch(VOLUMES, keys=_keys_of_volume)
        self._classes = self.informer(CLASSES)
        self._classes.add_callback(self._class_changed)
        self._missing_classes = self.add_queue(f"{self.name}-classes", self._create_class)

    async def start(self) -> None:
        """Create the StorageClass, which claims without a class name need; the queue retries a failed attempt."""
        try:
            await self._create_class(volumes.CLASS_NAME)
        except ClientError as error:
            self.log.warning("creating StorageClass %s will be tried again: %s", volumes.CLASS_NAME, error)
            self._missing_classes.add_rate_limited(volumes.CLASS_NAME)

    async def _create_class(self, name: str) -> None:
        classes = self._classes.lister.list()
        if any(name_of(storage_class) == name for storage_class in classes):
            return
        try:
            await self.client.create(volumes.new_class(classes))
        except AlreadyExists:
            return

    def _class_changed(self, change: Change[Tree]) -> None:
        if self.is_ready and change.latest.get("provisioner") == volumes.PROVISIONER:
            for claim in self._claims.lister.list():
                self.enqueue(claim)

    async def reconcile(self, key: str) -> None:
        """Provision, expand or delete a volume."""
        if "/" not in key:
            volume = self._volumes.lister.get(key)
            if volume is not None and volumes.should_delete(volume):
                await self._delete(volume)
            return
        namespace, name = split_key(key)
        claim = self._claims.lister.get(name, namespace=namespace)
        if claim is None:
            return
        storage_class = self._classes.lister.get(claim["spec"].get("storageClassName") or "")
        if storage_class is not None and volumes.needs_provisioning(claim, storage_class):
            await self._provision(claim, storage_class)
            return
        size = volumes.expansion_size(claim)
        volume = self._volumes.lister.get(claim["spec"].get("volumeName") or "")
        if size and volume is not None and volumes.is_provisioned_here(volume):
            await self._expand(claim, volume, size)

    async def _provision(self, claim: Tree, storage_class: Tree) -> None:
        volume = volumes.new_volume(claim, storage_class)
        try:
            written = await self.client.create(volume)
        except AlreadyExists:
            return
        self.own_writes.note(key_of(claim), self._volumes, written)
        self._recorder.event(
            claim, "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {name_of(volume)}"
        )

    async def _expand(self, claim: Tree, volume: Tree, size: str) -> None:
        capacity = {"capacity": {"storage": size}}
        try:
            await self.client.patch(VOLUMES, name_of(volume), {"spec": capacity}, patch_type=PatchType.MERGE)
            written = await self.client.patch(
                CLAIMS, name_of(claim), {"metadata": {"uid": uid_of(claim)}, "status": capacity},
                patch_type=PatchType.MERGE, namespace=namespace_of(claim), subresource="status",
            )  # fmt: skip
        except NotFound:
            return
        self.own_writes.note(key_of(claim), self._claims, written)

    async def _delete(self, volume: Tree) -> None:
        try:
            await self.client.delete_object(volume, uid=uid_of(volume))
        except NotFound:
            return


def _keys_of_volume(volume: Tree) -> Iterator[str]:
    if volumes.is_provisioned_here(volume):
        yield name_of(volume)
        claim = volume["spec"].get("claimRef") or {}
        if claim.get("namespace"):
            yield f"{claim['namespace']}/{claim['name']}"
