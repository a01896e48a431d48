"""Revisions of templates."""

from __future__ import annotations

import msgspec
import pytest
from lightkube.models.apps_v1 import ControllerRevision, DaemonSet
from lightkube.models.core_v1 import PodTemplateSpec

from steersman.runtime.owners import controller_reference
from steersman.workloads.revisions import (
    data_hash,
    find_present,
    in_order,
    new_revision,
    superfluous,
    template_data,
    template_of,
)


def template(version="1"):
    tree = {"metadata": {"labels": {"v": version}}, "spec": {"containers": [{"name": "c"}]}}
    return msgspec.convert(tree, PodTemplateSpec)


def revision(name, number, version="1", created="2026-01-01T00:00:00Z"):
    metadata = {"name": name, "creationTimestamp": created}
    tree = {"metadata": metadata, "revision": number, "data": template_data(template(version))}
    return msgspec.convert(tree, ControllerRevision)


def test_template_of_restores_the_template():
    assert template_of(revision("a", 1, "7")) == template("7")


def test_template_data_sorts_keys_at_every_level():
    tree = {
        "spec": {"containers": [{"name": "c", "image": "i", "env": [{"value": "v", "name": "n"}]}]},
        "metadata": {"labels": {"b": "2", "a": "1"}, "annotations": {}},
    }
    data = msgspec.json.encode(template_data(msgspec.convert(tree, PodTemplateSpec)))
    assert data == (
        b'{"spec":{"template":{"$patch":"replace","metadata":{"annotations":{},"labels":{"a":"1","b":"2"}},'
        b'"spec":{"containers":[{"env":[{"name":"n","value":"v"}],"image":"i","name":"c"}]}}}}'
    )


def test_data_hash_depends_on_data_and_collisions():
    one, other = template_data(template("1")), template_data(template("2"))
    assert len({data_hash(one, 0), data_hash(other, 0), data_hash(one, 1)}) == 3
    assert data_hash(one, 0) == data_hash(template_data(template("1")), 0)


@pytest.mark.parametrize(
    ("revisions", "obj", "number", "duplicates"),
    [
        ([], None, 1, []),
        ([("a", 4, "2")], None, 5, []),
        ([("a", 1, "1")], "a", 1, []),
        ([("a", 1, "1"), ("b", 2, "2")], "a", 3, []),
        ([("a", 3, "1"), ("b", 2, "2")], "a", 3, []),
        ([("a", 1, "1"), ("b", 2, "1"), ("c", 3, "2")], "b", 4, ["a"]),
    ],
)
def test_find_present_returns_the_newest_equal_revision(revisions, obj, number, duplicates):
    present = find_present([revision(*item) for item in revisions], template_data(template()))
    assert (present.revision.metadata.name if present.revision else None) == obj
    assert present.number == number
    assert [duplicate.metadata.name for duplicate in present.duplicates] == duplicates


def test_new_revision_is_named_after_owner_and_hash():
    owner = msgspec.convert(
        {"metadata": {"name": "x" * 250, "namespace": "ns", "uid": "u", "annotations": {"a": "b"}}}, DaemonSet
    )
    reference = controller_reference(owner, api_version="apps/v1", kind="DaemonSet")
    result = new_revision(
        owner, template(), controller=reference, number=3, revision_name="abc", labels={"hash": "abc"}
    )
    assert result.metadata.name == f"{'x' * 223}-abc"
    assert result.metadata.labels == {"v": "1", "hash": "abc"}
    assert (result.revision, result.metadata.annotations) == (3, {"a": "b"})
    assert result.metadata.ownerReferences[0].uid == "u"


def test_superfluous_returns_the_oldest_unused_revisions():
    revisions = [revision("c", 3), revision("a", 1), revision("b", 1, created="2026-01-02T00:00:00Z")]
    assert [item.metadata.name for item in in_order(revisions)] == ["a", "b", "c"]
    assert [superfluou.metadata.name for superfluou in superfluous(revisions, keep=1)] == ["a", "b"]
    assert superfluous(revisions, keep=5) == []
    assert superfluous(revisions, keep=-1) == []
