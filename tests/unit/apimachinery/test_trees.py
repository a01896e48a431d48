"""Copying and comparing trees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.codec import decode_json_exactly
from steersman.apimachinery.trees import copy_tree, in_key_order, same_tree
from steersman.apimachinery.workmeter import Allowance, WorkLimitError, metered

TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(TREES)
def test_copy_tree_is_equal(tree: Any) -> None:
    assert same_tree(copy_tree(tree), tree)


def nested(depth: int, inner: Any) -> Any:
    return {"a": [nested(depth - 1, inner), "b"]} if depth else inner


@pytest.mark.parametrize(
    "tree",
    [
        {"data": {f"k{number}": f"v{number}" for number in range(50_000)}},
        [{"name": f"n{number}", "values": [number]} for number in range(30_000)],
        {"text": "x" * 1_000_000, "list": ["y" * 300_000, 2**70, {}]},
        nested(20, list(range(200_000))),
    ],
)
def test_copy_tree_of_large_trees_shares_nothing(tree: Any) -> None:
    copied = copy_tree(tree)
    assert same_tree(copied, tree)
    assert not containers(copied) & containers(tree)


def containers(tree: Any) -> set[int]:
    """Return the identities of all dicts and lists."""
    if not isinstance(tree, dict | list):
        return set()
    members = tree.values() if isinstance(tree, dict) else tree
    return {id(tree)}.union(*(containers(member) for member in members))


def test_copy_tree_charges_large_trees() -> None:
    with pytest.raises(WorkLimitError), metered(Allowance(1)):
        copy_tree({f"k{number}": "v" for number in range(50_000)})


@pytest.mark.parametrize("number", [1, 2**80])
def test_copy_tree_shares_nothing(number: int) -> None:
    tree = {"a": [{"b": number}]}
    copied = copy_tree(tree)
    copied["a"][0]["b"] = 2
    copied["a"].append(3)
    assert tree == {"a": [{"b": number}]}


def test_copy_tree_keeps_the_text_of_numbers() -> None:
    assert copy_tree(decode_json_exactly(b"[1e1]"))[0].text == "1e1"


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        (1, 1.0, False),
        (1, True, False),
        ([{"a": 0}], [{"a": False}], False),
        ("1", 1, False),
        (None, None, True),
    ],
)
def test_same_tree_compares_json(left: Any, right: Any, same: bool) -> None:
    assert same_tree(left, right) is same


@given(TREES)
def test_in_key_order_changes_only_the_order(tree):
    ordered = in_key_order(tree)
    assert same_tree(ordered, tree)
    assert list(ordered) == sorted(tree) if isinstance(tree, dict) else True


def test_in_key_order_sorts_objects_in_lists():
    [item] = in_key_order([{"b": {"d": 1, "c": 2}, "a": 3}])
    assert ([*item], [*item["b"]]) == (["a", "b"], ["c", "d"])
