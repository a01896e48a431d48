"""StorageClass and PersistentVolumes of the simulated storage: pure functions over trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.quantity import parse
from steersman.client.objects import name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree


PROVISIONER: Final = "simulated.steersman.dev"
CLASS_NAME: Final = "simulated"
_IS_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_STORAGE_PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"


def annotation(obj: Tree, name: str) -> str:
    """Return the value of an annotation; empty if missing."""
    return (obj["metadata"].get("annotations") or {}).get(name) or ""


def new_class(others: Iterable[Tree]) -> Tree:
    """Return the simulated StorageClass, which is the default class unless another one is."""
    is_default = not any(annotation(other, _IS_DEFAULT_CLASS) == "true" for other in others)
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS_NAME, "annotations": {_IS_DEFAULT_CLASS: "true"} if is_default else {}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }


def needs_provisioning(claim: Tree, storage_class: Tree | None) -> bool:
    """True if a volume is due for the claim; ``WaitForFirstConsumer`` waits for the selected node."""
    if (
        storage_class is None
        or annotation(claim, _STORAGE_PROVISIONER) != PROVISIONER
        or claim["spec"].get("volumeName")
    ):
        return False
    waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
    return not claim["metadata"].get("deletionTimestamp") and (not waits or bool(annotation(claim, _SELECTED_NODE)))


def new_volume(claim: Tree, storage_class: Tree) -> Tree:
    """Return a volume of the requested size, bound to the claim by ``claimRef``."""
    name, spec = f"pvc-{uid_of(claim)}", claim["spec"]
    volume: Tree = {
        "accessModes": spec.get("accessModes") or [],
        "capacity": {"storage": _requested(claim)},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": namespace_of(claim),
            "name": name_of(claim),
            "uid": uid_of(claim),
        },
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "storageClassName": name_of(storage_class),
        "volumeMode": spec.get("volumeMode") or "Filesystem",
        "csi": {
            "driver": PROVISIONER,
            "volumeHandle": name,
            "volumeAttributes": storage_class.get("parameters") or {},
        },
    }
    if storage_class.get("mountOptions"):
        volume["mountOptions"] = storage_class["mountOptions"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_PROVISIONED_BY: PROVISIONER}},
        "spec": volume,
    }


def _requested(claim: Tree) -> str:
    return str(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage") or "0")


def is_provisioned_here(volume: Tree) -> bool:
    """True if the volume was provisioned by this provisioner."""
    return annotation(volume, _PROVISIONED_BY) == PROVISIONER


def should_delete(volume: Tree) -> bool:
    """True for a released volume of this provisioner with reclaim policy ``Delete``."""
    phase = (volume.get("status") or {}).get("phase")
    policy = volume["spec"].get("persistentVolumeReclaimPolicy")
    return is_provisioned_here(volume) and phase == "Released" and policy == "Delete"


def expansion_size(claim: Tree) -> str:
    """Return the requested size of a bound claim if it exceeds its capacity; otherwise empty."""
    status = claim.get("status") or {}
    capacity, requested = (status.get("capacity") or {}).get("storage"), _requested(claim)
    is_more = status.get("phase") == "Bound" and capacity is not None and parse(requested).nanos > parse(capacity).nanos
    return requested if is_more else ""
