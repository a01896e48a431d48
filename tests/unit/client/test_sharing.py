"""What is equal is kept once."""

import pytest
from lightkube.models.core_v1 import Pod
from lightkube.models.meta_v1 import ManagedFieldsEntry, ObjectMeta

from steersman.client import sharing
from steersman.client.sharing import Sharing, drop_managed_fields
from steersman.runtime.object_part import MetadataPart, ObjectPart


def pod():
    return Pod(metadata=ObjectMeta(labels={"a": "b"}, managedFields=[ManagedFieldsEntry(fieldsV1={"f:spec": {}})]))


def tree():
    return {"metadata": {"labels": {"a": "b"}, "managedFields": [{"fieldsV1": {"f:spec": {}}}, {}]}}


def test_structs_share_labels_and_field_ownership():
    first, second, share = pod(), pod(), Sharing()
    share.share(first)
    share.share(second)
    assert first == second == pod()
    assert first.metadata.labels is second.metadata.labels
    assert first.metadata.managedFields[0].fieldsV1 is second.metadata.managedFields[0].fieldsV1


def test_trees_do_too():
    first, second, share = tree(), tree(), Sharing()
    share.share(first)
    share.share(second)
    assert first == second == tree()
    assert first["metadata"]["labels"] is second["metadata"]["labels"]
    assert first["metadata"]["managedFields"][0]["fieldsV1"] is second["metadata"]["managedFields"][0]["fieldsV1"]


@pytest.mark.parametrize("obj", [Pod(), {}, Pod(metadata=ObjectMeta()), {"metadata": {}}], ids=str)
def test_what_has_nothing_to_share_is_left_alone(obj):
    Sharing().share(obj)


def test_the_memory_of_parts_is_bounded(monkeypatch):
    monkeypatch.setattr(sharing, "PARTS_MAX", 2)
    share = Sharing()
    for n in range(10):
        share.share({"metadata": {"labels": {"n": str(n)}}})
    assert len(share._parts) <= 3


def test_field_ownership_may_be_dropped():
    assert drop_managed_fields(pod()).metadata.managedFields is None
    assert "managedFields" not in drop_managed_fields(tree())["metadata"]
    assert drop_managed_fields(Pod()) == Pod()
    assert drop_managed_fields({}) == {}
    part = ObjectPart(metadata=MetadataPart(name="a"))
    assert drop_managed_fields(part) is part
