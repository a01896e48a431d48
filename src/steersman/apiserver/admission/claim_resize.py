"""``PersistentVolumeClaimResize``: allows expansion of claims only if their StorageClass does."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup
from steersman.apiserver.generic.columns import storage_class_of

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource


_NOT_BOUND: Final = "Only bound persistent volume claims can be expanded"
_NOT_EXPANDABLE: Final = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


class PersistentVolumeClaimResize(Plugin):
    """Check of updates that increase the requested size."""

    name: ClassVar[str] = "PersistentVolumeClaimResize"

    def __init__(self, storage_classes: WatchCache) -> None:
        #: ``allowVolumeExpansion`` by StorageClass.
        self._expandable: Final = Lookup(storage_classes, _is_expandable)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for updates of claims."""
        is_claim = resource.group_resource == "persistentvolumeclaims" and not subresource
        return is_claim and operation is Operation.UPDATE

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 if the claim cannot be expanded."""
        claim, old = attributes.object, attributes.old_object
        if claim is None or old is None or _size(claim) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise attributes.forbidden(_NOT_BOUND)
        name = storage_class_of(claim)
        if not name or name != storage_class_of(old) or not await self._expandable.get(name):
            raise attributes.forbidden(_NOT_EXPANDABLE)


def _size(claim: Tree) -> Quantity:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return parse(requests.get("storage", "0"))


def _is_expandable(tree: Tree) -> bool:
    return bool(tree.get("allowVolumeExpansion"))
