"""``persistentvolume-protection-controller``: protects volumes that are bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import PersistentVolume

from steersman.client.changes import Deleted
from steersman.controllers.protection.finalizing import add, remove_finalizer
from steersman.controllers.protection.plan import VOLUME_FINALIZER, Step, is_volume_used, step
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext


class PVProtectionController(ManagedController):
    """Reconciles PersistentVolumes by name."""

    name: ClassVar[str] = "persistentvolume-protection-controller"
    queue_name: ClassVar[str] = "pvprotection"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._volumes = self.watch(PersistentVolume, when=lambda change: not isinstance(change, Deleted))

    async def reconcile(self, key: str) -> None:
        """Add the finalizer, or remove it from a deleted volume that is not bound."""
        volume = self._volumes.lister.get(key)
        if volume is None:
            return
        match step(volume, VOLUME_FINALIZER):
            case Step.ADD:
                await add(self, key, self._volumes, volume, VOLUME_FINALIZER)
            case Step.RELEASE:
                if not is_volume_used(volume):
                    await remove_finalizer(self, key, self._volumes, volume, VOLUME_FINALIZER)
            case Step.NOTHING:
                pass


def build(context: ControllerContext) -> PVProtectionController:
    """Construct the controller."""
    return PVProtectionController(context)
