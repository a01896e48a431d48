"""Provisioning rules of the simulated storage."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.apimachinery.trees import Tree
from steersman.nodes import volumes

CLASS: Tree = {
    "metadata": {"name": "simulated"},
    "provisioner": volumes.PROVISIONER,
    "volumeBindingMode": "WaitForFirstConsumer",
    "reclaimPolicy": "Retain",
    "mountOptions": ["ro"],
    "parameters": {"kind": "fast"},
}
PROVISIONED = {"volume.kubernetes.io/storage-provisioner": volumes.PROVISIONER}
CHOSEN = {**PROVISIONED, "volume.kubernetes.io/selected-node": "node-0"}


def claim(notes: dict[str, str], *, has: str = "", phase: str = "Pending", **spec: Any) -> Tree:
    requested = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    return {
        "metadata": {"name": "c", "namespace": "n", "uid": "u", "annotations": notes},
        "spec": {**requested, **spec},
        "status": {"phase": phase, **({"capacity": {"storage": has}} if has else {})},
    }


@pytest.mark.parametrize(
    ("claim_tree", "storage_class", "wants"),
    [
        (claim(CHOSEN), CLASS, True),
        (claim(PROVISIONED), CLASS, False),
        (claim(PROVISIONED), {**CLASS, "volumeBindingMode": "Immediate"}, True),
        (claim({}), CLASS, False),
        (claim(CHOSEN), None, False),
        (claim(CHOSEN, volumeName="v"), CLASS, False),
    ],
)
def test_claim_needs_provisioning_once_its_node_is_selected(
    claim_tree: Tree, storage_class: Tree | None, wants: bool
) -> None:
    assert volumes.needs_provisioning(claim_tree, storage_class) is wants


def test_volume_follows_its_claim_and_class() -> None:
    volume = volumes.new_volume(claim(CHOSEN, volumeMode="Block"), CLASS)
    assert volume["metadata"]["name"] == "pvc-u"
    spec = volume["spec"]
    assert (spec["capacity"], spec["accessModes"]) == ({"storage": "2Gi"}, ["ReadWriteOnce"])
    assert (spec["volumeMode"], spec["mountOptions"], spec["persistentVolumeReclaimPolicy"]) == (
        "Block",
        ["ro"],
        "Retain",
    )
    assert (spec["claimRef"]["uid"], spec["csi"]["volumeAttributes"]) == ("u", {"kind": "fast"})
    assert volumes.is_provisioned_here(volume)


def test_released_volume_is_deleted_unless_retained() -> None:
    volume = volumes.new_volume(claim(CHOSEN), {**CLASS, "reclaimPolicy": "Delete"})
    assert not volumes.should_delete(volume)
    volume["status"] = {"phase": "Released"}
    assert volumes.should_delete(volume)
    volume["spec"]["persistentVolumeReclaimPolicy"] = "Retain"
    assert not volumes.should_delete(volume)


@pytest.mark.parametrize(
    ("claim_tree", "size"),
    [
        (claim({}, has="1Gi", phase="Bound"), "2Gi"),
        (claim({}, has="2048Mi", phase="Bound"), ""),
        (claim({}, phase="Bound"), ""),
        (claim({}, has="1Gi"), ""),
    ],
)
def test_bound_claim_can_be_expanded(claim_tree: Tree, size: str) -> None:
    assert volumes.expansion_size(claim_tree) == size


def test_class_is_default_unless_another_one_is() -> None:
    default = volumes.new_class([])
    assert default["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert volumes.new_class([default])["metadata"]["annotations"] == {}
