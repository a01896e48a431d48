"""CSI migration of in-tree plugins, and deletion protection of the volumes that the others provisioned. Inputs are not modified.

Upstream: ``pkg/controller/volume/persistentvolume/pv_controller_base.go`` (``updateMigrationAnnotations``,
``modifyDeletionFinalizers``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim

from steersman.client.objects import annotations_of, metadata_field
from steersman.controllers.persistentvolume.binding import PROVISIONERS
from steersman.runtime.structs import with_metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)

PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
MIGRATED_TO: Final = "pv.kubernetes.io/migrated-to"
#: Prefix of the names of in-tree plugins.
IN_TREE: Final = "kubernetes.io/"
#: In-tree provisioners → CSI drivers that replaced them.
CSI_DRIVERS: Final = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com", "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com", "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io", "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}  # fmt: skip
#: Finalizer of volumes that this controller deletes from their storage.
_IN_TREE_FINALIZER: Final = "kubernetes.io/pv-controller"
_EXTERNAL_FINALIZER: Final = "external-provisioner.volume.kubernetes.io/finalizer"


def migrated_claim(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    """Return the claim with the CSI driver of its provisioner; itself if up to date."""
    annotations = annotations_of(claim)
    for name in PROVISIONERS:
        if name in annotations:
            return _with_driver(claim, annotations[name])
    return claim


def migrated_volume(volume: PersistentVolume) -> PersistentVolume:
    """Return the volume with the CSI driver of its provisioner and its deletion finalizers; itself if up to date."""
    provisioner = annotations_of(volume).get(PROVISIONED_BY)
    if provisioner is None:
        return volume
    old = finalizers_of(volume)
    new = _deletion_finalizers(volume, provisioner, old)
    volume = _with_driver(volume, provisioner)
    return volume if new == old else with_metadata(volume, finalizers=new or None)


def unprotected_volume(volume: PersistentVolume) -> PersistentVolume:
    """Return the volume without the finalizer of in-tree plugins; itself without one."""
    finalizers = finalizers_of(volume)
    if _IN_TREE_FINALIZER not in finalizers:
        return volume
    return with_metadata(volume, finalizers=_without(finalizers, _IN_TREE_FINALIZER) or None)


def finalizers_of(volume: PersistentVolume) -> list[str]:
    """Return the finalizers of a volume."""
    return list(metadata_field(volume, "finalizers") or ())


def _deletion_finalizers(volume: PersistentVolume, provisioner: str, finalizers: list[str]) -> list[str]:
    if provisioner in CSI_DRIVERS:
        return _without(finalizers, _IN_TREE_FINALIZER)
    if not provisioner.startswith(IN_TREE):
        return finalizers
    policy = volume.spec.persistentVolumeReclaimPolicy if volume.spec else None
    # no finalizer may be added to an object that is being deleted
    is_going = metadata_field(volume, "deletionTimestamp") is not None
    if policy == "Delete" and _IN_TREE_FINALIZER not in finalizers and not is_going:
        finalizers = [*finalizers, _IN_TREE_FINALIZER]
    elif policy in ("Retain", "Recycle"):
        finalizers = _without(finalizers, _IN_TREE_FINALIZER)
    return _without(finalizers, _EXTERNAL_FINALIZER)


def _without(finalizers: Sequence[str], name: str) -> list[str]:
    return [finalizer for finalizer in finalizers if finalizer != name]


def _with_driver(obj: T, provisioner: str) -> T:
    annotations, driver = annotations_of(obj), CSI_DRIVERS.get(provisioner, "")
    if annotations.get(MIGRATED_TO, "") == driver:
        return obj
    others = {name: value for name, value in annotations.items() if name != MIGRATED_TO}
    return with_metadata(obj, annotations=others | ({MIGRATED_TO: driver} if driver else {}))
