"""Computed strategic merge patches."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.typemodel import Field, ListOf, MapOf, Scalar, ScalarKind, Struct
from steersman.schema.strategic_diff import create_two_way_merge_patch
from steersman.schema.strategic_merge import strategic_merge

TEXT = Scalar(ScalarKind.STRING)
ITEM = Struct(
    "Item",
    {
        "name": Field("name", TEXT),
        "args": Field("args", ListOf(TEXT)),
        "env": Field("env", ListOf(MapOf(TEXT)), patch_strategies=("merge",), patch_merge_key="name"),
    },
)
SPEC = Struct(
    "Spec",
    {
        "items": Field("items", ListOf(ITEM), patch_strategies=("merge", "retainKeys"), patch_merge_key="name"),
        "finalizers": Field("finalizers", ListOf(TEXT), patch_strategies=("merge",)),
        "labels": Field("labels", MapOf(TEXT)),
        "selector": Field("selector", MapOf(TEXT), patch_strategies=("replace",)),
        "strategy": Field("strategy", MapOf(TEXT), patch_strategies=("retainKeys",)),
        "tolerations": Field("tolerations", ListOf(MapOf(TEXT))),
    },
)
WORDS = st.sampled_from(["a", "b", "c"])
MAPS = st.dictionaries(WORDS, WORDS, max_size=3)


def keyed(inner: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Draw lists of items with different names."""
    return st.lists(
        st.fixed_dictionaries({"name": st.sampled_from("vwxyz")}, optional=inner), unique_by=lambda item: item["name"]
    )


SPECS = st.fixed_dictionaries(
    {},
    optional={
        "items": keyed({"args": st.lists(WORDS, max_size=2), "env": keyed({"value": WORDS})}),
        "finalizers": st.lists(WORDS, unique=True),
        "labels": MAPS,
        "selector": MAPS,
        "strategy": MAPS,
        "tolerations": st.lists(MAPS, max_size=2),
        "replicas": st.integers(0, 2) | st.booleans(),
    },
)


@given(SPECS, SPECS)
def test_two_way_merge_patch_results_in_the_target(original: dict[str, Any], modified: dict[str, Any]) -> None:
    patch = create_two_way_merge_patch(original, modified, SPEC)
    assert strategic_merge(original, patch, SPEC) == modified


@given(SPECS)
def test_two_way_merge_patch_of_equal_objects_is_empty(spec: dict[str, Any]) -> None:
    assert create_two_way_merge_patch(spec, spec, SPEC) == {}


def test_two_way_merge_patch_of_merged_lists_has_order_and_deletions() -> None:
    original = {"items": [{"name": "v", "args": ["a"]}, {"name": "w"}]}
    modified = {"items": [{"name": "x"}, {"name": "v", "args": ["b"]}]}
    assert create_two_way_merge_patch(original, modified, SPEC) == {
        "$setElementOrder/items": [{"name": "x"}, {"name": "v"}],
        "items": [
            {"name": "x"},
            {"$retainKeys": ["name", "args"], "name": "v", "args": ["b"]},
            {"$patch": "delete", "name": "w"},
        ],
    }


def test_two_way_merge_patch_of_primitive_lists() -> None:
    assert create_two_way_merge_patch({"finalizers": ["a", "b"]}, {"finalizers": ["b", "c"]}, SPEC) == {
        "$deleteFromPrimitiveList/finalizers": ["a"],
        "$setElementOrder/finalizers": ["b", "c"],
        "finalizers": ["c"],
    }


def test_two_way_merge_patch_sets_removed_fields_to_null() -> None:
    assert create_two_way_merge_patch({"labels": {"a": "1"}, "x": 1}, {"labels": {}}, SPEC) == {
        "labels": {"a": None},
        "x": None,
    }
