from types import SimpleNamespace

import pytest
from lightkube.models.core_v1 import Pod
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference

from steersman.runtime.owners import (
    Owner,
    controller_of,
    controller_reference,
    is_controlled_by,
    owners_of,
    stored_controller_of,
    without_owner,
)
from steersman.runtime.structs import field

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "name": "j",
    "uid": "u1",
    "controller": True,
    "blockOwnerDeletion": True,
}
NODE = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u2"}


def typed(*references):
    return Pod(metadata=ObjectMeta(name="a", ownerReferences=[OwnerReference(**r) for r in references]))


def tree(*references):
    return {"metadata": {"name": "a", "ownerReferences": list(references)}}


@pytest.fixture(params=[typed, tree])
def make(request):
    return request.param


def test_owners_of_returns_all_owners(make):
    owners = owners_of(make(NODE, JOB))
    assert [owner.tree() for owner in owners] == [NODE, JOB]
    assert [owner.group for owner in owners] == ["", "batch"]


def test_owners_of_accepts_references_of_a_type_with_fewer_fields():
    reference = SimpleNamespace(apiVersion="v1", kind="Node", name="n", uid="u2")
    assert [owner.tree() for owner in owners_of(tree(reference))] == [NODE]


def test_controller_of_returns_the_controller_reference(make):
    assert controller_of(make(NODE, JOB)) == Owner(
        "batch/v1", "Job", "j", "u1", controller=True, block_owner_deletion=True
    )
    assert controller_of(make(NODE)) is None
    assert controller_of(make()) is None


def test_is_controlled_by_compares_uids(make):
    assert is_controlled_by(make(NODE, JOB), {"metadata": {"uid": "u1"}})
    assert not is_controlled_by(make(NODE, JOB), {"metadata": {"uid": "u2"}})


def test_controller_reference_blocks_owner_deletion():
    job = {"metadata": {"name": "j", "uid": "u1"}}
    reference = controller_reference(job, api_version="batch/v1", kind="Job")
    assert reference.tree() == JOB
    assert reference.typed() == OwnerReference(**JOB)


def test_without_owner_removes_by_uid(make):
    assert [owner.uid for owner in without_owner(owners_of(make(NODE, JOB)), "u1")] == ["u2"]


def test_stored_controller_is_a_part_of_the_object(make):
    obj = make(NODE, JOB)
    assert field(stored_controller_of(obj), "name") == "j"
    assert stored_controller_of(obj) is stored_controller_of(obj)


def test_orphan_has_no_stored_controller(make):
    assert stored_controller_of(make(NODE)) is None
