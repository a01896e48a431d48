import pytest
from lightkube.models.core_v1 import Node, Pod
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client.events.reference import event_namespace, object_reference


def test_object_reference_of_a_typed_object_has_its_kind():
    pod = Pod(metadata=ObjectMeta(name="a", namespace="ns", uid="u", resourceVersion="7"))
    assert object_reference(pod, field_path="spec.containers{c}") == {
        "kind": "Pod", "namespace": "ns", "name": "a", "uid": "u", "apiVersion": "v1", "resourceVersion": "7",
        "fieldPath": "spec.containers{c}",
    }  # fmt: skip


def test_object_reference_of_a_tree_requires_its_kind():
    tree = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert object_reference(tree) == {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w"}
    with pytest.raises(ValueError, match="must tell its apiVersion and kind"):
        object_reference({"metadata": {"name": "w"}})


def test_object_reference_copies_a_reference():
    reference = {"kind": "Node", "name": "n", "uid": "n"}
    assert object_reference(reference) == reference


def test_object_reference_rejects_a_class_without_resource():
    with pytest.raises(LookupError):
        object_reference(ObjectMeta())


def test_event_namespace_is_default_for_cluster_scoped_objects():
    assert event_namespace(object_reference(Node(metadata=ObjectMeta(name="n")))) == "default"
    assert event_namespace({"namespace": "ns"}) == "ns"
