"""Creation of JSON patches."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.patch.json_diff import create_json_patch
from steersman.apimachinery.patch.json_patch import apply_operations
from steersman.apimachinery.trees import same_tree

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2).filter(lambda number: number != 0) | st.text("a/~", max_size=2),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text("ab/~-0", max_size=2), values, max_size=4),
    max_leaves=20,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text("ab/~-0", max_size=2), VALUES, max_size=4)


@given(OBJECTS, OBJECTS)
def test_patch_turns_one_object_into_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    originals = deepcopy((before, after))
    patch = create_json_patch(before, after)
    assert same_tree(apply_operations(before, patch), after)
    assert (before, after) == originals


@given(OBJECTS)
def test_patch_of_equal_objects_is_empty(tree: dict[str, Any]) -> None:
    assert create_json_patch(tree, deepcopy(tree)) == []


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1, "b": 2}, {"b": 2}, [{"op": "remove", "path": "/a"}]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [{"op": "replace", "path": "/a/b", "value": 2}]),
        ({}, {"a/b~c": {"d": 1}}, [{"op": "add", "path": "/a~1b~0c", "value": {"d": 1}}]),
        ({"a": 1}, {"a": 1.0}, [{"op": "replace", "path": "/a", "value": 1.0}]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": None}, {}, [{"op": "remove", "path": "/a"}]),
        ({"a": [1]}, {"a": {}}, [{"op": "replace", "path": "/a", "value": {}}]),
        ({"a": [1, 2, 3]}, {"a": [2, 3]}, [{"op": "remove", "path": "/a/0"}]),
        ({"a": [1, 3]}, {"a": [1, 2, 3]}, [{"op": "add", "path": "/a/1", "value": 2}]),
        ({"a": [1]}, {"a": [1, 2]}, [{"op": "add", "path": "/a/1", "value": 2}]),
        ({"a": [1, 2, 3, 4]}, {"a": [1, 4]}, [{"op": "remove", "path": "/a/2"}, {"op": "remove", "path": "/a/1"}]),
        (
            {"a": [{"name": "x", "image": "1"}, {"name": "y"}]},
            {"a": [{"name": "x", "image": "2"}, {"name": "y"}]},
            [{"op": "replace", "path": "/a/0/image", "value": "2"}],
        ),
    ],
)
def test_patch_names_only_what_differs(before: Any, after: Any, patch: Any) -> None:
    assert create_json_patch(before, after) == patch
