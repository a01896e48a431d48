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
    including,
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
def test_a_set_holds_the_paths_it_was_made_of(given_paths):
    assert members(of(given_paths)) == set(given_paths)


@given(SETS)
def test_fields_v1_reads_back_as_the_same_set(node):
    assert decode_set(json.loads(json.dumps(node))) == node


@given(SETS)
def test_members_stand_in_order_at_every_level(node):
    assert list(decode_set(node)) == list(node)


@given(SETS, SETS)
def test_union_has_the_members_of_both(left, right):
    both = union(left, right)
    assert members(both) == members(left) | members(right)
    assert json.dumps(both) == json.dumps(decode_set(both))


@given(SETS, SETS)
def test_intersection_has_the_members_in_both(left, right):
    assert members(intersection(left, right)) == members(left) & members(right)


@given(SETS, SETS)
def test_difference_takes_members_and_leaves_what_is_below(left, right):
    assert members(difference(left, right)) == members(left) - members(right)


@given(SETS, SETS)
def test_recursive_difference_takes_what_is_below_too(left, right):
    gone = members(right)
    kept = {path for path in members(left) if not any(path[: len(prefix)] == prefix for prefix in gone)}
    assert members(recursive_difference(left, right)) == kept


@given(SETS, SETS)
def test_difference_and_intersection_make_the_whole(left, right):
    assert union(difference(left, right), intersection(left, right)) == left


@given(SETS, SETS)
def test_no_operation_changes_its_operands(left, right):
    before = json.dumps([left, right])
    union(left, right), intersection(left, right), difference(left, right), recursive_difference(left, right)
    assert json.dumps([left, right]) == before


@given(SETS)
def test_has_knows_members_only(node):
    assert all(has(node, path) for path in paths(node))
    assert not has(node, ())
    assert not has(node, ("f:zzz",))


def test_leaves_are_members_with_none_below():
    assert leaves({"f:a": {".": {}, "f:b": {}}, "f:c": {}}) == {"f:a": {"f:b": {}}, "f:c": {}}


def test_own_elements_come_before_those_further_down():
    node = of([("a", "b"), ("b",), ("a",)])
    assert list(paths(node)) == [("f:a",), ("f:b",), ("f:a", "f:b")]


def test_decode_drops_elements_of_unknown_sorts():
    assert decode_set({"f:a": {"x:later": {}}, "y:later": {}}) == {"f:a": {}}


def test_decode_writes_elements_canonically_and_in_order():
    assert json.dumps(decode_set({"f:b": {}, "f:a": {'k:{ "x":1}': {".": {}}}})) == json.dumps(
        {"f:a": {'k:{"x":1}': {}}, "f:b": {}}
    )


@pytest.mark.parametrize("fields", [[], "x", {"f:a": 1}, {"a": {}}, {"k:x": {}}])
def test_decode_refuses_what_is_no_fields_v1(fields):
    with pytest.raises(ValueError):
        decode_set(fields)


def test_excluding_drops_whole_branches():
    assert fieldset.excluding(of([("status",)]))({"f:spec": {"f:a": {}}, "f:status": {"f:b": {}}}) == {
        "f:spec": {"f:a": {}}
    }


def test_including_keeps_only_what_matches():
    only = including([("spec", "containers", "*", "resources")])
    item = 'k:{"name":"c"}'
    node = {
        "f:metadata": {"f:labels": {}},
        "f:spec": {"f:containers": {item: {".": {}, "f:image": {}, "f:resources": {"f:limits": {}}}}},
    }
    assert only(node) == {"f:spec": {"f:containers": {item: {".": {}, "f:resources": {"f:limits": {}}}}}}
