"""Fields of bound and unbound volumes and claims. Inputs are not modified."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
from lightkube.models.core_v1 import (
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeStatus,
)

from steersman.client.objects import annotations_of, name_of, namespace_of, resource_version_of, uid_of
from steersman.controllers.persistentvolume.matching import is_reserved_for
from steersman.runtime.structs import with_metadata

T = TypeVar("T")

BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
#: The second is the old name, for old provisioners.
PROVISIONERS: Final = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")


def bound_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return the volume with ``claimRef``; itself if up to date."""
    assert volume.spec is not None
    reference = volume.spec.claimRef
    new = volume
    if reference is None or reference.uid != uid_of(claim) or not is_reserved_for(volume, claim):
        claim_reference = ObjectReference(
            kind="PersistentVolumeClaim",
            apiVersion="v1",
            namespace=namespace_of(claim),
            name=name_of(claim),
            uid=uid_of(claim),
            resourceVersion=resource_version_of(claim),
        )
        new = msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, claimRef=claim_reference))
    if not is_reserved_for(volume, claim):
        new = _annotated(new, BOUND_BY_CONTROLLER)
    return new


def bound_claim(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    """Return the claim with ``volumeName``; itself if up to date."""
    assert claim.spec is not None
    new = claim
    if claim.spec.volumeName != name_of(volume):
        spec = msgspec.structs.replace(claim.spec, volumeName=name_of(volume))
        new = _annotated(msgspec.structs.replace(claim, spec=spec), BOUND_BY_CONTROLLER)
    return _annotated(new, BIND_COMPLETED)


def unbound_volume(volume: PersistentVolume) -> PersistentVolume:
    """Return the volume without the controller's ``claimRef``; of a user's one only the UID is removed."""
    assert volume.spec is not None
    if BOUND_BY_CONTROLLER in annotations_of(volume):
        annotations = {key: value for key, value in annotations_of(volume).items() if key != BOUND_BY_CONTROLLER}
        spec = msgspec.structs.replace(volume.spec, claimRef=None)
        return with_metadata(msgspec.structs.replace(volume, spec=spec), annotations=annotations or None)
    reference = volume.spec.claimRef
    kept_reference = msgspec.structs.replace(reference, uid=None) if reference is not None else None
    return msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, claimRef=kept_reference))


def volume_in_phase(volume: PersistentVolume, phase: str, message: str = "") -> PersistentVolume | None:
    """Return the volume in that phase; None if up to date."""
    status = volume.status or PersistentVolumeStatus()
    if status.phase == phase:
        return None
    new = msgspec.structs.replace(status, phase=phase, message=message or None)
    return msgspec.structs.replace(volume, status=new)


def claim_in_phase(
    claim: PersistentVolumeClaim, phase: str, volume: PersistentVolume | None
) -> PersistentVolumeClaim | None:
    """Return the claim in that phase, with capacity and access modes; None if up to date.

    The capacity is set only on binding: a file system may be resized later than its device.
    """
    status = claim.status or PersistentVolumeClaimStatus()
    new = msgspec.structs.replace(status, phase=phase)
    if volume is None or volume.spec is None:
        new = msgspec.structs.replace(new, accessModes=None, capacity=None, currentVolumeAttributesClassName=None)
    else:
        new = msgspec.structs.replace(new, accessModes=volume.spec.accessModes)
        if status.phase != phase:
            attributes = volume.spec.volumeAttributesClassName or None
            new = msgspec.structs.replace(
                new, capacity=volume.spec.capacity, currentVolumeAttributesClassName=attributes
            )
    return None if new == status else msgspec.structs.replace(claim, status=new)


def with_provisioner(claim: PersistentVolumeClaim, provisioner: str) -> PersistentVolumeClaim:
    """Return the claim annotated for its provisioner; itself if up to date."""
    annotations = annotations_of(claim)
    if annotations.get(PROVISIONERS[0]) == provisioner:
        return claim
    return with_metadata(claim, annotations={**annotations, **dict.fromkeys(PROVISIONERS, provisioner)})


def with_class(claim: PersistentVolumeClaim, name: str) -> PersistentVolumeClaim:
    """Return the claim with the storage class that became the default after its creation (KEP-3333)."""
    assert claim.spec is not None
    return msgspec.structs.replace(claim, spec=msgspec.structs.replace(claim.spec, storageClassName=name))


def _annotated(obj: T, name: str) -> T:
    annotations = annotations_of(obj)
    return obj if name in annotations else with_metadata(obj, annotations={**annotations, name: "yes"})
