"""Difference of two objects."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.compare import compare_objects
from steersman.apimachinery.managedfields.listkeys import UnkeyedItemError


def compare(widget, old, new):
    comparison = compare_objects({"spec": old}, {"spec": new}, widget)
    return comparison.changed.get("f:spec"), comparison.removed.get("f:spec")


CASES = {
    "a value": ({"replicas": 1}, {"replicas": 2}, {"f:replicas": {}}, None),
    "a new field": ({}, {"replicas": 2}, {"f:replicas": {}}, None),
    "a field gone": ({"replicas": 1, "enabled": True}, {"enabled": True}, None, {"f:replicas": {}}),
    "a map key": ({"limits": {"a": "1", "b": "2"}}, {"limits": {"a": "1", "b": "3"}}, {"f:limits": {"f:b": {}}}, None),
    "a new map": ({}, {"limits": {"a": "1"}}, {"f:limits": {".": {}, "f:a": {}}}, None),
    "a map from null": ({"limits": None}, {"limits": {"a": "1"}}, {"f:limits": {"f:a": {}}}, None),
    "a map to null": ({"limits": {"a": "1"}}, {"limits": None}, None, {"f:limits": {"f:a": {}}}),
    "null to empty": ({"limits": None}, {"limits": {}}, {"f:limits": {}}, None),
    "atomic list": ({"args": ["a"]}, {"args": ["a", "b"]}, {"f:args": {}}, None),
    "atomic map": ({"selector": {"a": "b"}}, {"selector": {"a": "c"}}, {"f:selector": {}}, None),
    "atomic struct": ({"ref": {"name": "a"}}, {"ref": {"name": "b"}}, {"f:ref": {}}, None),
    "order of a set": ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, None, None),
    "set items": ({"tags": ["a", "b"]}, {"tags": ["b", "c"]}, {"f:tags": {'v:"c"': {}}}, {"f:tags": {'v:"a"': {}}}),
    "part of an item": (
        {"parts": [{"name": "a", "size": 1}]},
        {"parts": [{"name": "a", "size": 2}]},
        {"f:parts": {'k:{"name":"a"}': {"f:size": {}}}},
        None,
    ),
    "items come and go": (
        {"parts": [{"name": "a"}]},
        {"parts": [{"name": "b"}]},
        {"f:parts": {'k:{"name":"b"}': {".": {}, "f:name": {}}}},
        {"f:parts": {'k:{"name":"a"}': {".": {}, "f:name": {}}}},
    ),
    "items where none were": (
        {"parts": None},
        {"parts": [{"name": "b"}, {"name": "a", "size": 1}, {"name": "b", "size": 1}]},
        {"f:parts": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:size": {}}, 'k:{"name":"b"}': {}}},
        None,
    ),
    "a default key written out": (
        {"ports": [{"port": 1}]},
        {"ports": [{"port": 1, "protocol": "TCP"}]},
        {"f:ports": {'k:{"port":1,"protocol":"TCP"}': {"f:protocol": {}}}},
        None,
    ),
    "anything": ({"anything": {"a": 1}}, {"anything": {"a": 2}}, {"f:anything": {"f:a": {}}}, None),
    "anything that is no object": ({"anything": [1]}, {"anything": [2]}, {"f:anything": {}}, None),
    "one is not true": ({"anything": {"a": 1}}, {"anything": {"a": True}}, {"f:anything": {"f:a": {}}}, None),
    "numbers by value": ({"anything": {"a": 1}}, {"anything": {"a": 1.0}}, None, None),
    "undeclared object": (
        {"extra": {"x": {"a": 1, "b": 1}}},
        {"extra": {"x": {"a": 2}}},
        {"f:extra": {"f:x": {"f:a": {}}}},
        {"f:extra": {"f:x": {"f:b": {}}}},
    ),
    "undeclared object to text": (
        {"extra": {"x": {"a": 1}}},
        {"extra": {"x": "t"}},
        {"f:extra": {"f:x": {}}},
        {"f:extra": {"f:x": {"f:a": {}}}},
    ),
    "undeclared text to object": (
        {"extra": {"x": "t"}},
        {"extra": {"x": {"a": 1}}},
        {"f:extra": {"f:x": {".": {}, "f:a": {}}}},
        None,
    ),
    "undeclared list": ({"extra": {"x": [1]}}, {"extra": {"x": [2]}}, {"f:extra": {"f:x": {}}}, None),
    "a wrong type counts as a leaf": ({"limits": {"a": "1"}}, {"limits": ["a"]}, {"f:limits": {}}, None),
}


@pytest.mark.parametrize(("old", "new", "changed", "removed"), CASES.values(), ids=CASES)
def test_compare_objects_returns_changed_and_removed_fields(widget, old, new, changed, removed):
    assert compare(widget, old, new) == (changed, removed)


A1, A2, A3 = ({"name": "a", "size": size} for size in (1, 2, 3))
ITEM = 'k:{"name":"a"}'
WHOLE = {".": {}, "f:name": {}, "f:size": {}}
DUPLICATES = {
    "still twice, the same": ([A1, A2], [A1, A2], None, None),
    "still twice, changed": ([A1, A2], [A1, A3], {ITEM: {}}, None),
    "no longer twice": ([A1, A2], [A1], {ITEM: WHOLE}, {ITEM: {}}),
    "all gone": ([A1, A2], [{"name": "b"}], {'k:{"name":"b"}': {".": {}, "f:name": {}}}, {ITEM: {}}),
    "twice now": ([A1], [A1, A2], {ITEM: {}}, {ITEM: WHOLE}),
}


@pytest.mark.parametrize(("old", "new", "changed", "removed"), DUPLICATES.values(), ids=DUPLICATES)
def test_compare_objects_treats_duplicate_items_as_one_leaf(widget, old, new, changed, removed):
    result = compare(widget, {"parts": old}, {"parts": new})
    assert result == (changed and {"f:parts": changed}, removed and {"f:parts": removed})


def test_compare_objects_ignores_identity_fields(widget):
    live = {
        "apiVersion": "v1",
        "kind": "Widget",
        "metadata": {"name": "a", "resourceVersion": "1", "labels": {"a": "b"}},
    }
    new = {"apiVersion": "v2", "kind": "Other", "metadata": {"uid": "u", "generation": 2, "labels": {"a": "c"}}}
    comparison = compare_objects(live, new, widget)
    assert comparison == ({"f:metadata": {"f:labels": {"f:a": {}}}}, {})


def test_compare_objects_raises_for_an_item_without_key(widget):
    with pytest.raises(UnkeyedItemError):
        compare(widget, {}, {"parts": [{"size": 1}]})


def test_compare_objects_leaves_the_fields_of_earlier_objects_as_they_were(widget):
    for _ in range(2):
        changed, _removed = compare(widget, {"limits": None}, {"limits": {"a": "1"}})
        assert changed == {"f:limits": {"f:a": {}}}
        changed, _removed = compare(widget, {}, {"limits": {"a": "1"}})
        assert changed == {"f:limits": {".": {}, "f:a": {}}}
