"""Warnings about PersistentVolumes."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import tree

from steersman.apiserver.kinds.core.persistentvolume.warnings import volume_warnings

CLASS = "volume.beta.kubernetes.io/storage-class"
OPTIONS = "volume.beta.kubernetes.io/mount-options"
ZONE = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("metadata", "spec", "warning"),
    [
        (
            {"annotations": {CLASS: "c"}},
            {},
            f'metadata.annotations[{CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead',
        ),
        (
            {"annotations": {OPTIONS: "c"}},
            {},
            f'metadata.annotations[{OPTIONS}]: deprecated since v1.31; use "mountOptions" attribute instead',
        ),
        (
            {},
            {"persistentVolumeReclaimPolicy": "Recycle"},
            (
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
                "Instead, the recommended approach is to use dynamic provisioning."
            ),
        ),
        ({}, {"storageos": {}}, "spec.storageOS: deprecated in v1.22, non-functional in v1.25+"),
        ({}, {"rbd": {}}, "spec.rbd: deprecated in v1.28, non-functional in v1.31+"),
        (
            {},
            {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE}]}]}}},
            (
                f"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: {ZONE} is "
                'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
            ),
        ),
    ],
)
def test_volume_warnings_about_deprecated_fields(metadata: dict, spec: dict, warning: str):
    assert list(volume_warnings(tree(metadata, spec=spec))) == [warning]


def test_volume_warnings_is_empty_for_current_fields():
    assert list(volume_warnings(tree(spec={"csi": {}, "persistentVolumeReclaimPolicy": "Delete"}))) == []
