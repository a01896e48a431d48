"""``StorageObjectInUseProtection``: volumes, claims and their classes stay while they are used."""

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
    """Volumes, claims and classes of attributes that are created."""

    name: ClassVar[str] = "StorageObjectInUseProtection"

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Creation of these kinds."""
        return resource.group_resource in FINALIZERS and not subresource and operation is Operation.CREATE

    async def admit(self, attributes: Attributes) -> None:
        """Add the finalizer that a controller takes away when nothing uses the object."""
        if attributes.object is None:
            return
        metadata = attributes.object["metadata"]
        finalizer = FINALIZERS[attributes.group_resource]
        if finalizer not in (metadata.get("finalizers") or ()):
            metadata["finalizers"] = [*(metadata.get("finalizers") or ()), finalizer]
