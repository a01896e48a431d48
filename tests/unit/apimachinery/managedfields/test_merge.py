"""Merge of an applied tree into the live one."""

from __future__ import annotations

import copy

import pytest

from steersman.apimachinery.managedfields.merge import merge_objects
from steersman.apimachinery.managedfields.shapes import root_shape


def merged(widget, live, applied):
    return merge_objects({"spec": live}, {"spec": applied}, root_shape(widget))["spec"]


CASES = {
    "values of both": ({"replicas": 1, "enabled": True}, {"replicas": 2}, {"replicas": 2, "enabled": True}),
    "maps by key": ({"limits": {"a": "1", "b": "1"}}, {"limits": {"b": "2"}}, {"limits": {"a": "1", "b": "2"}}),
    "atomic parts are replaced": (
        {"args": ["a"], "selector": {"a": "b"}, "ref": {"name": "x"}},
        {"args": ["b"], "selector": {"c": "d"}, "ref": {}},
        {"args": ["b"], "selector": {"c": "d"}, "ref": {}},
    ),
    "items by key": (
        {"parts": [{"name": "a", "size": 1}, {"name": "b"}]},
        {"parts": [{"name": "a", "tags": ["x"]}]},
        {"parts": [{"name": "a", "size": 1, "tags": ["x"]}, {"name": "b"}]},
    ),
    "a null scalar is a value": ({"replicas": 1}, {"replicas": None}, {"replicas": None}),
    "a null map or list adds nothing": (
        {"limits": {"a": "1"}, "tags": ["a"]},
        {"limits": None, "tags": None},
        {"limits": {"a": "1"}, "tags": ["a"]},
    ),
    "an empty one neither": (
        {"limits": {"a": "1"}, "tags": ["a"]},
        {"limits": {}, "tags": []},
        {"limits": {"a": "1"}, "tags": ["a"]},
    ),
    "undeclared objects merge": (
        {"extra": {"x": {"a": 1}}},
        {"extra": {"x": {"b": 1}}},
        {"extra": {"x": {"a": 1, "b": 1}}},
    ),
    "undeclared lists do not": ({"extra": {"x": [1]}}, {"extra": {"x": [2]}}, {"extra": {"x": [2]}}),
}


@pytest.mark.parametrize(("live", "applied", "expected"), CASES.values(), ids=CASES)
def test_merge_objects_prefers_applied_values(widget, live, applied, expected):
    assert merged(widget, live, applied) == expected


ORDERS = [
    ("abc", "zbd", "azbcd"),
    ("azbcd", "cba", "zcdba"),
    ("ab", "ba", "ba"),
    ("abc", "c", "abc"),
    ("abc", "ca", "bca"),
    ("", "ba", "ba"),
    ("ab", "", "ab"),
    ("axb", "ab", "axb"),
]


@pytest.mark.parametrize(("live", "applied", "expected"), ORDERS)
def test_merge_objects_keeps_the_order_of_applied_items(widget, live, applied, expected):
    assert merged(widget, {"tags": list(live)}, {"tags": list(applied)}) == {"tags": list(expected)}


def test_merge_objects_keeps_duplicate_live_items_until_applied(widget):
    twice = [{"name": "a", "size": 1}, {"name": "a", "size": 2}]
    assert merged(widget, {"parts": twice}, {"parts": [{"name": "b"}]})["parts"] == [*twice, {"name": "b"}]
    assert merged(widget, {"parts": twice}, {"parts": [{"name": "a", "size": 3}]})["parts"] == [
        {"name": "a", "size": 3}
    ]


def test_merge_objects_shares_nothing_with_its_arguments(widget):
    live = {"limits": {"a": "1"}, "args": ["x"], "parts": [{"name": "a", "tags": ["t"]}]}
    applied = {"nested": {"n": {"size": 1}}, "parts": [{"name": "b", "tags": ["u"]}]}
    before = copy.deepcopy((live, applied))
    out = merged(widget, live, applied)
    out["limits"]["a"] = "2"
    out["args"].append("y")
    out["parts"][0]["tags"].append("z")
    out["parts"][1]["tags"].append("z")
    out["nested"]["n"]["size"] = 2
    assert (live, applied) == before
