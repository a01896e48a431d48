"""Warnings about PersistentVolumeClaims."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import tree

from steersman.apiserver.kinds.core.persistentvolumeclaim.warnings import claim_warnings

CLASS = "volume.beta.kubernetes.io/storage-class"


def test_claim_warnings_about_fractions_of_bytes_and_class_annotation():
    spec = {"resources": {"requests": {"storage": "1500m"}}}
    assert list(claim_warnings(tree({"annotations": {CLASS: "c"}}, spec=spec))) == [
        f'metadata.annotations[{CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead',
        'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    ]
