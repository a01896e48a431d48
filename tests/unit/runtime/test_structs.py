from lightkube.models.core_v1 import Pod
from lightkube.models.meta_v1 import ObjectMeta

from steersman.runtime.structs import field, replaced, with_metadata


def test_fields_of_trees_and_structs_read_alike():
    assert field({"type": "Ready"}, "type") == "Ready"
    assert field({}, "type") is None
    assert field(ObjectMeta(name="a"), "name") == "a"


def test_replaced_omits_none_in_trees():
    tree = {"a": 1, "b": 2}
    assert replaced(tree, b=None, c=3) == {"a": 1, "c": 3}
    assert tree == {"a": 1, "b": 2}


def test_metadata_changes_in_the_copy_only():
    pod, tree = Pod(metadata=ObjectMeta(name="a")), {"metadata": {"name": "a"}}
    assert with_metadata(pod, labels={"x": "y"}).metadata == ObjectMeta(name="a", labels={"x": "y"})
    assert with_metadata(tree, labels={"x": "y"}) == {"metadata": {"name": "a", "labels": {"x": "y"}}}
    assert pod.metadata.labels is None
    assert tree == {"metadata": {"name": "a"}}
