import pytest
from lightkube.models.core_v1 import Pod
from lightkube.models.meta_v1 import ObjectMeta

from steersman.runtime.finalizers import has_finalizer, is_being_deleted, with_finalizer, without_finalizer


def typed(**metadata):
    return Pod(metadata=ObjectMeta(name="a", **metadata))


def tree(**metadata):
    return {"metadata": {"name": "a", **metadata}}


@pytest.fixture(params=[typed, tree])
def make(request):
    return request.param


def test_with_finalizer_adds_it_once(make):
    obj = make()
    guarded = with_finalizer(obj, "example.com/a")
    assert guarded == make(finalizers=["example.com/a"])
    assert with_finalizer(guarded, "example.com/a") is guarded
    assert not has_finalizer(obj, "example.com/a")


def test_without_finalizer_keeps_others(make):
    obj = make(finalizers=["a", "b", "c"])
    assert without_finalizer(obj, "b") == make(finalizers=["a", "c"])
    assert without_finalizer(obj, "x") is obj
    assert has_finalizer(obj, "b")


def test_deletion_shows_in_its_timestamp(make):
    assert is_being_deleted(make(deletionTimestamp="2026-01-01T00:00:00Z"))
    assert not is_being_deleted(make())
