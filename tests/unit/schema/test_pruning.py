from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steersman.schema.loader import OBJECT_META, struct
from steersman.schema.pruning import prune


def test_prune_drops_and_reports_unspecified_fields():
    metadata = {"name": "a", "typo": 1, "ownerReferences": [{"name": "b", "typo": 1}]}
    pruned = {"name": "a", "ownerReferences": [{"name": "b"}]}
    assert prune(struct(OBJECT_META), metadata) == (pruned, ["ownerReferences[0].typo", "typo"])


def test_prune_keeps_maps_wrong_types_and_nulls():
    metadata = {"name": 5, "labels": {"a": 1}, "finalizers": {"no": "list"}, "annotations": None}
    assert prune(struct(OBJECT_META), metadata) == (metadata, [])


json_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "labels", "ownerReferences", "finalizers", "x"]), below, max_size=4)
    ),
    max_leaves=20,
)


@given(json_trees)
def test_prune_is_idempotent(tree):
    once = prune(struct(OBJECT_META), tree).tree
    assert prune(struct(OBJECT_META), once) == (once, [])
