"""``StorageObjectInUseProtection``: finalizers that prevent the deletion of storage objects in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from steersman.schema.resources import Resource

FINALIZERS: Final = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(Plugin):
    """Finalizers of new volumes, claims and VolumeAttributesClasses."""

    name: ClassVar[str] = "StorageObjectInUseProtection"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates of these resources."""
        return resource.group_resource in FINALIZERS and not subresource and operation is Operation.CREATE

    async def admit(self, attributes: Attributes) -> None:
        """Add the finalizer, which a controller removes when the object is unused."""
        if attributes.object is None:
            return
        metadata = attributes.object["metadata"]
        finalizer = FINALIZERS[attributes.group_resource]
        if finalizer not in (metadata.get("finalizers") or ()):
            metadata["finalizers"] = [*(metadata.get("finalizers") or ()), finalizer]
