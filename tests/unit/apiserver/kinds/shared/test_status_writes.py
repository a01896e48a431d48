"""Metadata in writes through ``/status``."""

from __future__ import annotations

from steersman.apiserver.kinds.shared.status_writes import keep_metadata


def test_keep_metadata_restores_writable_metadata():
    old = {"metadata": {"name": "a", "labels": {"x": "1"}, "finalizers": ["f/f"]}}
    new = {"metadata": {"name": "a", "labels": {"x": "2"}, "annotations": {"y": "1"}, "ownerReferences": [{}]}}
    keep_metadata(new, old)
    assert new == old


def test_keep_metadata_keeps_server_metadata():
    new = {"metadata": {"name": "a", "resourceVersion": "7", "managedFields": [{}]}}
    keep_metadata(new, {"metadata": {"name": "a", "resourceVersion": "6"}})
    assert new["metadata"] == {"name": "a", "resourceVersion": "7", "managedFields": [{}]}
