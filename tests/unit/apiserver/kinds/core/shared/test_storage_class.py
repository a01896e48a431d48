"""Deprecated annotation of the StorageClass."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import tree

from steersman.apiserver.kinds.core.shared.storage_class import class_annotation_warnings


@pytest.mark.parametrize("metadata", [{}, {"annotations": None}, {"annotations": {"a": "b"}}])
def test_class_annotation_warnings_is_empty_without_annotation(metadata: dict):
    assert list(class_annotation_warnings(tree(metadata))) == []


@pytest.mark.parametrize("name", ["fast", ""])
def test_class_annotation_warnings_points_to_field(name: str):
    annotation = "volume.beta.kubernetes.io/storage-class"
    assert list(class_annotation_warnings(tree({"annotations": {annotation: name}}))) == [
        f'metadata.annotations[{annotation}]: deprecated since v1.8; use "storageClassName" attribute instead'
    ]
