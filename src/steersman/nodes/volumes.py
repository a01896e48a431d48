"""Volumes that the simulated storage makes for claims: pure functions over trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.quantity import parse
from steersman.client.objects import name_of, namespace_of, uid_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    Tree = dict[str, Any]

PROVISIONER: Final = "simulated.steersman.dev"
CLASS_NAME: Final = "simulated"
_IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_ASKED: Final = "volume.kubernetes.io/storage-provisioner"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"


def annotation(obj: Tree, name: str) -> str:
    """Empty where there is none."""
    return (obj["metadata"].get("annotations") or {}).get(name) or ""


def new_class(others: Iterable[Tree]) -> Tree:
    """The class of simulated volumes: the default one, unless there is another default."""
    is_default = not any(annotation(each, _IS_DEFAULT) == "true" for each in others)
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS_NAME, "annotations": {_IS_DEFAULT: "true"} if is_default else {}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }


def wants_volume(claim: Tree, storage_class: Tree | None) -> bool:
    """Whether a volume is to be made for the claim now: where pods choose the place, one has chosen."""
    if storage_class is None or annotation(claim, _ASKED) != PROVISIONER or claim["spec"].get("volumeName"):
        return False
    waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
    return not claim["metadata"].get("deletionTimestamp") and (not waits or bool(annotation(claim, _SELECTED_NODE)))


def new_volume(claim: Tree, storage_class: Tree) -> Tree:
    """As large as the claim asks, and promised to it."""
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


def is_ours(volume: Tree) -> bool:
    """Whether it was made here."""
    return annotation(volume, _PROVISIONED_BY) == PROVISIONER


def is_done_with(volume: Tree) -> bool:
    """Whether nobody needs the volume any more, and it is not to be kept."""
    phase = (volume.get("status") or {}).get("phase")
    policy = volume["spec"].get("persistentVolumeReclaimPolicy")
    return is_ours(volume) and phase == "Released" and policy == "Delete"


def larger_size(claim: Tree) -> str:
    """What a bound claim asks for, if that is more than it has; otherwise empty."""
    status = claim.get("status") or {}
    has, wants = (status.get("capacity") or {}).get("storage"), _requested(claim)
    is_more = status.get("phase") == "Bound" and has is not None and parse(wants).nanos > parse(has).nanos
    return wants if is_more else ""
