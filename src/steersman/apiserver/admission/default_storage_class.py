"""``DefaultStorageClass``: sets the default class of claims without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.admission.defaulting import Candidate, newest_default
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup

if TYPE_CHECKING:
    from steersman.apiserver.generic.watch_cache import WatchCache
    from steersman.schema.resources import Resource

_DEFAULT_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


class DefaultStorageClass(Plugin):
    """Default class of new claims; an empty class name selects no class."""

    name: ClassVar[str] = "DefaultStorageClass"

    def __init__(self, storage_classes: WatchCache) -> None:
        self._classes: Final = Lookup(storage_classes, _read)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates of claims."""
        is_claim = resource.group_resource == "persistentvolumeclaims" and not subresource
        return is_claim and operation is Operation.CREATE

    async def admit(self, attributes: Attributes) -> None:
        """Set the newest default class; among equally old ones the first by name."""
        claim = attributes.object
        if claim is None or claim["spec"].get("storageClassName") is not None:
            return
        if _CLASS_ANNOTATION in (claim["metadata"].get("annotations") or {}):
            return
        name = newest_default(await self._classes.all())
        if name is not None:
            claim["spec"]["storageClassName"] = name


def _read(tree: dict[str, Any]) -> Candidate:
    return Candidate.of(tree, *_DEFAULT_ANNOTATIONS)
