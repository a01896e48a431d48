"""Sets of fields and their laws."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.managedfields import fieldset
from steersman.apimachinery.managedfields.fieldset import (
    decode_set,
    difference,
    has,
    intersection,
    leaves,
    of,
    paths,
    recursive_difference,
    union,
)

ELEMENTS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"n":1}', 'k:{"n":2}', 'v:"x"', "i:0"])
PATHS = st.lists(st.lists(ELEMENTS, min_size=1, max_size=4).map(tuple), max_size=8)
SETS = PATHS.map(of)


def members(node):
    return set(paths(node))


@given(PATHS)
def test_of_contains_the_given_paths(given_paths):
    assert members(of(given_paths)) == set(given_paths)


@given(SETS)
def test_decode_restores_an_encoded_set(node):
    assert decode_set(json.loads(json.dumps(node))) == node


@given(SETS)
def test_of_orders_members_at_every_level(node):
    assert list(decode_set(node)) == list(node)


@given(SETS, SETS)
def test_union_contains_the_members_of_either(left, right):
    both = union(left, right)
    assert members(both) == members(left) | members(right)
    assert json.dumps(both) == json.dumps(decode_set(both))


@given(SETS, SETS)
def test_intersection_contains_the_members_of_both(left, right):
    assert members(intersection(left, right)) == members(left) & members(right)


@given(SETS, SETS)
def test_difference_removes_members_but_not_their_children(left, right):
    assert members(difference(left, right)) == members(left) - members(right)


@given(SETS, SETS)
def test_recursive_difference_removes_children_too(left, right):
    removed = members(right)
    retained = {path for path in members(left) if not any(path[: len(prefix)] == prefix for prefix in removed)}
    assert members(recursive_difference(left, right)) == retained


@given(SETS, SETS)
def test_difference_and_intersection_partition_a_set(left, right):
    assert union(difference(left, right), intersection(left, right)) == left


@given(SETS, SETS)
def test_operations_do_not_mutate_their_operands(left, right):
    before = json.dumps([left, right])
    union(left, right), intersection(left, right), difference(left, right), recursive_difference(left, right)
    assert json.dumps([left, right]) == before


@given(SETS)
def test_has_is_true_for_members_only(node):
    assert all(has(node, path) for path in paths(node))
    assert not has(node, ())
    assert not has(node, ("f:zzz",))


def test_leaves_returns_members_without_children():
    assert leaves({"f:a": {".": {}, "f:b": {}}, "f:c": {}}) == {"f:a": {"f:b": {}}, "f:c": {}}


def test_paths_yields_own_elements_before_children():
    node = of([("a", "b"), ("b",), ("a",)])
    assert list(paths(node)) == [("f:a",), ("f:b",), ("f:a", "f:b")]


def test_decode_drops_elements_of_unknown_types():
    assert decode_set({"f:a": {"x:later": {}}, "y:later": {}}) == {"f:a": {}}


def test_decode_writes_elements_canonically_and_in_order():
    assert json.dumps(decode_set({"f:b": {}, "f:a": {'k:{ "x":1}': {".": {}}}})) == json.dumps(
        {"f:a": {'k:{"x":1}': {}}, "f:b": {}}
    )


@pytest.mark.parametrize("fields", [[], "x", {"f:a": 1}, {"a": {}}, {"k:x": {}}])
def test_decode_rejects_malformed_fields_v1(fields):
    with pytest.raises(ValueError):
        decode_set(fields)


def test_excluding_drops_paths_and_their_children():
    assert fieldset.excluding(of([("status",)]))({"f:spec": {"f:a": {}}, "f:status": {"f:b": {}}}) == {
        "f:spec": {"f:a": {}}
    }
