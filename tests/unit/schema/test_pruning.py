from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steersman.schema.openapi_types import from_openapi
from steersman.schema.pruning import prune

SHIRT = from_openapi(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "string"},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    "map": {"type": "object", "additionalProperties": {"type": "object"}},
                    "free": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                        "properties": {"strict": {"type": "object"}},
                    },
                },
            }
        },
    },
    "Shirt",
)


def test_prune_drops_and_reports_unspecified_fields():
    tree = {
        "kind": "Shirt",
        "typo": 1,
        "metadata": {"name": "a", "typo": 1},
        "spec": {"size": "M", "typo": 1, "list": [{"a": "x"}, {"b": 1}], "map": {"k": {"x": 1}}},
    }
    assert prune(SHIRT, tree) == (
        {
            "kind": "Shirt",
            "metadata": {"name": "a"},
            "spec": {"size": "M", "list": [{"a": "x"}, {}], "map": {"k": {}}},
        },
        ["metadata.typo", "spec.list[1].b", "spec.map.k.x", "spec.typo", "typo"],
    )


def test_prune_keeps_preserved_objects_but_prunes_specified_fields():
    tree = {"spec": {"free": {"any": {"deep": [1]}, "strict": {"x": 1}}}}
    assert prune(SHIRT, tree).tree == {"spec": {"free": {"any": {"deep": [1]}, "strict": {}}}}


def test_prune_keeps_wrong_types_and_nulls():
    tree = {"spec": {"size": 5, "list": {"no": "list"}, "map": [1], "free": None}}
    assert prune(SHIRT, tree) == (tree, [])


json_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "size", "list", "map", "free", "a", "x"]), below, max_size=4)
    ),
    max_leaves=20,
)


@given(json_trees)
def test_prune_is_idempotent(tree):
    once = prune(SHIRT, tree).tree
    assert prune(SHIRT, once) == (once, [])
