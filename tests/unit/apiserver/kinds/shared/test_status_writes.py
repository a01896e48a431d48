"""What a write through ``/status`` leaves alone."""

from __future__ import annotations

from steersman.apiserver.kinds.shared.status_writes import keep_metadata


def test_what_a_client_may_write_elsewhere_stays_as_it_was():
    old = {"metadata": {"name": "a", "labels": {"x": "1"}, "finalizers": ["f/f"]}}
    new = {"metadata": {"name": "a", "labels": {"x": "2"}, "annotations": {"y": "1"}, "ownerReferences": [{}]}}
    keep_metadata(new, old)
    assert new == old


def test_what_the_server_writes_is_not_touched():
    new = {"metadata": {"name": "a", "resourceVersion": "7", "managedFields": [{}]}}
    keep_metadata(new, {"metadata": {"name": "a", "resourceVersion": "6"}})
    assert new["metadata"] == {"name": "a", "resourceVersion": "7", "managedFields": [{}]}
