"""JSON merge patches."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.patch import apply_merge_patch, parse_merge_patch

VALUES = st.recursive(
    st.integers(0, 3) | st.sampled_from(["x", "y"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@pytest.mark.parametrize(
    ("tree", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "b"}, {"a": {"c": None, "d": [{"e": None}, None]}}, {"a": {"d": [{}, None]}}),
        ({"a": 1}, {}, {"a": 1}),
    ],
)
def test_apply_merge_patch_merges_removes_and_replaces(
    tree: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert apply_merge_patch(tree, patch) == expected


def diff(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return a patch that changes ``old`` to ``new``."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        both_objects = isinstance(value, dict) and isinstance(old.get(key), dict)
        patch[key] = diff(old[key], value) if both_objects else value
    return patch


@given(OBJECTS, OBJECTS)
def test_apply_merge_patch_of_a_computed_patch_returns_the_target(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert apply_merge_patch(old, diff(old, new)) == new


@given(OBJECTS, OBJECTS)
def test_apply_merge_patch_does_not_mutate_its_arguments(tree: dict[str, Any], patch: dict[str, Any]) -> None:
    tree_before, patch_before = deepcopy(tree), deepcopy(patch)
    result = apply_merge_patch(tree, patch)
    for value in result.values():
        if isinstance(value, list | dict):
            value.clear()
    assert (tree, patch) == (tree_before, patch_before)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"data: x", "error decoding patch: invalid character 'd' looking for beginning of value"),
        (b"null", "Invalid JSON Patch"),
        (
            b"[]",
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
    ],
)
def test_parse_merge_patch_is_400_for_malformed_patches(raw: bytes, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        parse_merge_patch(raw)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_parse_merge_patch_accepts_any_object() -> None:
    assert parse_merge_patch(b'{"a":null}') == {"a": None}
