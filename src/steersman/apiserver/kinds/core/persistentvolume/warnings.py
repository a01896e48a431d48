"""Warnings about valid PersistentVolumes. Upstream: ``pkg/api/persistentvolume/util.go``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.core.shared.storage_class import class_annotation_warnings
from steersman.apiserver.kinds.shared.podspec.warnings import OLD_VOLUMES, node_term_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree

_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
_SPEC: Final = Path("spec")
#: Removed volume types, spelled as in upstream's warnings. Warnings for Flocker and Quobyte exist for Pods only.
_OLD_KINDS: Final = {
    "cephfs": "cephfs",
    "photonPersistentDisk": "photonPersistentDisk",
    "scaleIO": "scaleIO",
    "storageos": "storageOS",
    "glusterfs": "glusterfs",
    "rbd": "rbd",
}


def volume_warnings(volume: Tree) -> Iterator[str]:
    """Yield the warnings about a PersistentVolume."""
    spec, annotations = volume.get("spec") or {}, volume["metadata"].get("annotations") or {}
    yield from class_annotation_warnings(volume)
    if _MOUNT_OPTIONS in annotations:
        yield f'metadata.annotations[{_MOUNT_OPTIONS}]: deprecated since v1.31; use "mountOptions" attribute instead'
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for position, term in enumerate(terms):
        yield from node_term_warnings(
            term, _SPEC.child("nodeAffinity", "required", "nodeSelectorTerms").index(position)
        )
    for kind, shown in _OLD_KINDS.items():
        if spec.get(kind) is not None:
            yield f"spec.{shown}: {OLD_VOLUMES[kind]}"
