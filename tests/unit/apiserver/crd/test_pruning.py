from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.crd.pruning import prune
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape

STRING = {"type": "string"}
STRICT = {"type": "object", "properties": {"a": STRING}}
PRESERVES = "x-kubernetes-preserve-unknown-fields"
SPEC = {
    "size": STRING,
    "port": {"x-kubernetes-int-or-string": True},
    "strict": STRICT,
    "list": {"type": "array", "items": STRICT},
    "map": {"type": "object", "additionalProperties": {"type": "object"}},
    "anyMap": {"type": "object", "additionalProperties": True},
    "noMap": {"type": "object", "additionalProperties": False},
    "free": {"type": "object", PRESERVES: True, "properties": {"strict": {"type": "object"}}},
    "freeString": {"type": "string", PRESERVES: True},
    "freeList": {"type": "array", PRESERVES: True, "items": STRICT},
    "template": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": STRICT}},
}
SHIRT = Shape({"type": "object", "properties": {"spec": {"type": "object", "properties": SPEC}}})


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
    tree = {"spec": {"free": {"any": {"deep": [1]}, "strict": {"x": 1}}, "freeString": {"x": [{"y": 1}]}}}
    pruned = {"spec": {"free": {"any": {"deep": [1]}, "strict": {}}, "freeString": {"x": [{"y": 1}]}}}
    assert prune(SHIRT, tree) == (pruned, ["spec.free.strict.x"])


@pytest.mark.parametrize(
    ("spec", "pruned", "unknown"),
    [
        ({"size": {"x": 1}}, {"size": {}}, ["spec.size.x"]),
        ({"size": [{"x": 1}, [{"y": 1}], 1]}, {"size": [{}, [{}], 1]}, ["spec.size[0].x", "spec.size[1][0].y"]),
        ({"port": {"x": {"y": 1}}}, {"port": {}}, ["spec.port.x"]),
        ({"strict": [{"a": "x"}]}, {"strict": [{}]}, ["spec.strict[0].a"]),
        ({"list": {"a": 1}}, {"list": {}}, ["spec.list.a"]),
        ({"list": [[{"a": 1}]]}, {"list": [[{}]]}, ["spec.list[0][0].a"]),
        ({"map": [{"x": 1}]}, {"map": [{}]}, ["spec.map[0].x"]),
        ({"free": [{"x": 1}]}, {"free": [{"x": 1}]}, []),
    ],
)
def test_prune_follows_the_type_of_the_value_when_the_schema_has_another(spec, pruned, unknown):
    assert prune(SHIRT, {"spec": spec}) == ({"spec": pruned}, unknown)


def test_prune_keeps_keys_but_no_fields_of_values_when_additional_properties_are_a_boolean():
    tree = {"spec": {"anyMap": {"a": 1, "b": {"x": 1}}, "noMap": {"a": 1, "b": [{"x": 1}]}}}
    pruned = {"spec": {"anyMap": {"a": 1, "b": {}}, "noMap": {"a": 1, "b": [{}]}}}
    assert prune(SHIRT, tree) == (pruned, ["spec.anyMap.b.x", "spec.noMap.b[0].x"])


def test_prune_keeps_unknown_fields_of_items_when_their_array_preserves_them():
    tree = {"spec": {"freeList": [{"a": {"x": 1}, "b": {"y": 1}}, [{"c": 1}]]}}
    pruned = {"spec": {"freeList": [{"a": {}, "b": {"y": 1}}, [{"c": 1}]]}}
    assert prune(SHIRT, tree) == (pruned, ["spec.freeList[0].a.x"])


def test_prune_reports_fields_of_embedded_metadata_last():
    template = {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "a", "typo": 1}, "typo": 1, "spec": {"a": "x"}}
    pruned, unknown = prune(SHIRT, {"metadata": {"typo": 1}, "spec": {"template": template, "zip": 1}})
    assert pruned["spec"] == {
        "template": {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": {"a": "x"}}
    }
    assert unknown == ["metadata.typo", "spec.template.typo", "spec.zip", "spec.template.metadata.typo"]


def test_prune_keeps_scalars_and_nulls():
    tree = {"spec": {"size": 5, "list": 1, "map": "x", "free": None}}
    assert prune(SHIRT, tree) == (tree, [])


json_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "metadata", *SPEC, "a", "x"]), below, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["spec", "kind", "x"]), json_trees, max_size=3))
def test_prune_is_idempotent(tree):
    once = prune(SHIRT, tree).tree
    assert prune(SHIRT, once) == (once, [])
