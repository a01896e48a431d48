"""Interning of metadata."""

import pytest
from lightkube.models.core_v1 import Pod
from lightkube.models.meta_v1 import ManagedFieldsEntry, ObjectMeta

from steersman.client import metadata_interner
from steersman.client.metadata_interner import MetadataInterner, drop_managed_fields
from steersman.controllers.shared.object_part import MetadataPart, ObjectPart


def pod():
    return Pod(metadata=ObjectMeta(labels={"a": "b"}, managedFields=[ManagedFieldsEntry(fieldsV1={"f:spec": {}})]))


def tree():
    return {"metadata": {"labels": {"a": "b"}, "managedFields": [{"fieldsV1": {"f:spec": {}}}, {}]}}


def test_intern_shares_labels_and_managed_fields_of_structs():
    first, second, share = pod(), pod(), MetadataInterner()
    share.intern(first)
    share.intern(second)
    assert first == second == pod()
    assert first.metadata.labels is second.metadata.labels
    assert first.metadata.managedFields[0].fieldsV1 is second.metadata.managedFields[0].fieldsV1


def test_intern_shares_labels_and_managed_fields_of_trees():
    first, second, share = tree(), tree(), MetadataInterner()
    share.intern(first)
    share.intern(second)
    assert first == second == tree()
    assert first["metadata"]["labels"] is second["metadata"]["labels"]
    assert first["metadata"]["managedFields"][0]["fieldsV1"] is second["metadata"]["managedFields"][0]["fieldsV1"]


@pytest.mark.parametrize("obj", [Pod(), {}, Pod(metadata=ObjectMeta()), {"metadata": {}}], ids=str)
def test_intern_ignores_objects_without_metadata(obj):
    MetadataInterner().intern(obj)


def test_interner_table_is_bounded(monkeypatch):
    monkeypatch.setattr(metadata_interner, "PARTS_MAX", 2)
    share = MetadataInterner()
    for n in range(10):
        share.intern({"metadata": {"labels": {"n": str(n)}}})
    assert len(share._parts) <= 3


def test_drop_managed_fields_removes_them():
    assert drop_managed_fields(pod()).metadata.managedFields is None
    assert "managedFields" not in drop_managed_fields(tree())["metadata"]
    assert drop_managed_fields(Pod()) == Pod()
    assert drop_managed_fields({}) == {}
    part = ObjectPart(metadata=MetadataPart(name="a"))
    assert drop_managed_fields(part) is part
