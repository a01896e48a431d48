"""Selection of volumes and storage classes for claims. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.quantity import Quantity, parse
from steersman.apimachinery.selectors import from_label_selector
from steersman.client.objects import annotations_of, labels_of, metadata_field, name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim
    from lightkube.models.storage_v1 import StorageClass

_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """Return the name of the storage class; empty if the claim has none or requests none."""
    old = annotations_of(claim).get(_CLASS)
    return old if old is not None else (claim.spec.storageClassName if claim.spec else None) or ""


def has_class(claim: PersistentVolumeClaim) -> bool:
    """Report whether the claim has a class, possibly empty. Upstream: ``PersistentVolumeClaimHasClass``."""
    return _CLASS in annotations_of(claim) or (claim.spec is not None and claim.spec.storageClassName is not None)


def class_of_volume(volume: PersistentVolume) -> str:
    """Return the name of the storage class; empty without one."""
    old = annotations_of(volume).get(_CLASS)
    return old if old is not None else (volume.spec.storageClassName if volume.spec else None) or ""


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """Return the newest default class; ties are broken by name."""
    marked = [
        storage_class
        for storage_class in classes
        if any(annotations_of(storage_class).get(name) == "true" for name in _DEFAULT_CLASS)
    ]
    marked.sort(key=name_of)
    marked.sort(key=lambda storage_class: metadata_field(storage_class, "creationTimestamp"), reverse=True)
    return marked[0] if marked else None


def is_delayed(storage_class: StorageClass | None) -> bool:
    """Report whether the class binds when the first pod is scheduled."""
    return storage_class is not None and storage_class.volumeBindingMode == "WaitForFirstConsumer"


def has_selected_node(claim: PersistentVolumeClaim) -> bool:
    """Report whether the scheduler has selected a Node for the volume."""
    return _SELECTED_NODE in annotations_of(claim)


def is_reserved_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Report whether the volume's ``claimRef`` is the claim; a UID is compared only if set."""
    reference = volume.spec.claimRef if volume.spec else None
    if reference is None or (reference.namespace, reference.name) != (namespace_of(claim), name_of(claim)):
        return False
    return not reference.uid or reference.uid == uid_of(claim)


def mismatch_reason(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """Return why a claim cannot use its named volume; empty if it can."""
    if metadata_field(volume, "deletionTimestamp") is not None:
        return f'the volume is marked for deletion "{name_of(volume)}"'
    if _capacity(volume) < _request(claim):
        return "requested PV is too small"
    if class_of_volume(volume) != class_of_claim(claim):
        return "storageClassName does not match"
    if _attributes(volume) != _attributes(claim):
        return "VolumeAttributesClassName does not match"
    if modes_differ(volume, claim):
        return "incompatible volumeMode"
    if not _access(claim) <= _access(volume):
        return "incompatible accessMode"
    return ""


def modes_differ(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Report whether the volume modes differ (block device or file system)."""
    return _mode(volume) != _mode(claim)


def best_volume(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], *, delayed: bool
) -> PersistentVolume | None:
    """Return the best match: fewest access modes, then reserved for the claim, then the smallest capacity.

    ``delayed``: the scheduler selects, so only a reserved volume qualifies. Upstream:
    ``pkg/controller/volume/persistentvolume/index.go`` (``findByClaim``).
    """
    selector = claim.spec.selector if claim.spec else None
    selector_rules = from_label_selector(msgspec.to_builtins(selector)) if selector is not None else None
    best: PersistentVolume | None = None
    best_rank: tuple[int, bool, Quantity] | None = None
    for volume in volumes:
        if not _may_have(volume, claim):
            continue
        is_reserved = is_reserved_for(volume, claim)
        if not is_reserved:
            free = not delayed and volume.status is not None and volume.status.phase == "Available"
            if not free or (selector_rules is not None and not selector_rules.matches(labels_of(volume))):
                continue
            if class_of_volume(volume) != class_of_claim(claim):
                continue
        rank = (len(_access(volume)), not is_reserved, _capacity(volume))
        if best_rank is None or rank < best_rank:
            best, best_rank = volume, rank
    return best


def _may_have(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    if volume.spec is None or (volume.spec.claimRef is not None and not is_reserved_for(volume, claim)):
        return False
    if metadata_field(volume, "deletionTimestamp") is not None or not _access(claim) <= _access(volume):
        return False
    fits = _capacity(volume) >= _request(claim) and _attributes(volume) == _attributes(claim)
    return fits and not modes_differ(volume, claim)


def _capacity(volume: PersistentVolume) -> Quantity:
    return parse(str(((volume.spec.capacity if volume.spec else None) or {}).get("storage", "0")))


def _request(claim: PersistentVolumeClaim) -> Quantity:
    resources = claim.spec.resources if claim.spec else None
    return parse(str(((resources.requests if resources else None) or {}).get("storage", "0")))


def _attributes(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return (obj.spec.volumeAttributesClassName if obj.spec else None) or ""


def _access(obj: PersistentVolume | PersistentVolumeClaim) -> set[str]:
    return set((obj.spec.accessModes if obj.spec else None) or ())


def _mode(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return (obj.spec.volumeMode if obj.spec else None) or "Filesystem"
