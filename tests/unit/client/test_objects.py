"""Metadata accessors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightkube.models.core_v1 import Namespace, Pod
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client import objects

POD = Pod(metadata=ObjectMeta(name="a", namespace="b", uid="u", resourceVersion="7", labels={"x": "y"}))
TREE = {"metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}}}


@pytest.mark.parametrize("obj", [POD, TREE], ids=["struct", "tree"])
def test_accessors_read_structs_and_trees(obj):
    assert (objects.name_of(obj), objects.namespace_of(obj), objects.uid_of(obj)) == ("a", "b", "u")
    assert (objects.resource_version_of(obj), objects.labels_of(obj), objects.annotations_of(obj)) == (
        "7",
        {"x": "y"},
        {},
    )
    assert objects.key_of(obj) == "b/a"


@pytest.mark.parametrize("obj", [Pod(), {}, {"metadata": None}], ids=str)
def test_accessors_of_objects_without_metadata(obj):
    assert (objects.name_of(obj), objects.labels_of(obj), objects.key_of(obj)) == ("", {}, "")


def test_key_of_a_cluster_scoped_object_is_its_name():
    assert objects.key_of(Namespace(metadata=ObjectMeta(name="n"))) == "n"


@pytest.mark.parametrize(("key", "parts"), [("a", ("", "a")), ("n/a", ("n", "a"))])
def test_split_key_returns_namespace_and_name(key, parts):
    assert objects.split_key(key) == parts


@pytest.mark.parametrize("key", ["", "/a", "a/", "a/b/c"])
def test_split_key_rejects_malformed_keys(key):
    with pytest.raises(ValueError, match="unexpected key format"):
        objects.split_key(key)


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_compare_versions_orders_integers(first, second):
    order = objects.compare_versions(str(first), str(second))
    assert (order > 0, order == 0) == (first > second, first == second)


@pytest.mark.parametrize(
    ("first", "second", "order"), [("a", "a", 0), ("a", "b", None), ("5", "b", None), ("", "5", None)]
)
def test_compare_versions_of_opaque_versions(first, second, order):
    assert objects.compare_versions(first, second) == order
