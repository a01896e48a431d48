"""``volumeattributesclass-protection-controller``: protects classes that a claim or volume names."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim
from lightkube.models.storage_v1 import VolumeAttributesClass

from steersman.client.changes import Added, Deleted
from steersman.controllers.protection.finalizing import add, remove_finalizer
from steersman.controllers.protection.plan import CLASS_FINALIZER, Step, classes_named, step
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

_BY_CLASS: Final = "volume attributes class"


class VACProtectionController(ManagedController):
    """Reconciles VolumeAttributesClasses by name."""

    name: ClassVar[str] = "volumeattributesclass-protection-controller"
    queue_name: ClassVar[str] = "vacprotection"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._classes = self.watch(VolumeAttributesClass, when=lambda change: not isinstance(change, Deleted))
        self._users = (
            self.watch(PersistentVolumeClaim, keys=classes_named, when=_may_release),
            self.watch(PersistentVolume, keys=classes_named, when=_may_release),
        )
        for informer in self._users:
            informer.add_index(_BY_CLASS, classes_named)

    async def reconcile(self, key: str) -> None:
        """Add the finalizer, or remove it from a deleted class that is not in use."""
        attributes_class = self._classes.lister.get(key)
        if attributes_class is None:
            return
        match step(attributes_class, CLASS_FINALIZER):
            case Step.ADD:
                await add(self, key, self._classes, attributes_class, CLASS_FINALIZER)
            case Step.RELEASE:
                if not any(informer.lister.by_index(_BY_CLASS, key) for informer in self._users):
                    await remove_finalizer(self, key, self._classes, attributes_class, CLASS_FINALIZER)
            case Step.NOTHING:
                pass


def _may_release(change: Change[PersistentVolume] | Change[PersistentVolumeClaim]) -> bool:
    return not isinstance(change, Added)


def build(context: ControllerContext) -> VACProtectionController:
    """Construct the controller."""
    return VACProtectionController(context)
