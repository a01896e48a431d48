"""Taking fields out of a tree."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.remove import remove_fields
from steersman.apimachinery.managedfields.shapes import root_shape

A = 'k:{"name":"a"}'
CASES = {
    "a leaf": ({"replicas": 1, "enabled": True}, {"f:replicas": {}}, {"enabled": True}),
    "a map key": ({"limits": {"a": "1", "b": "2"}}, {"f:limits": {"f:a": {}}}, {"limits": {"b": "2"}}),
    "the last map key leaves an empty map": ({"limits": {"a": "1"}}, {"f:limits": {"f:a": {}}}, {"limits": {}}),
    "the last field of an item leaves an empty item": (
        {"parts": [{"name": "a"}]},
        {"f:parts": {A: {"f:name": {}}}},
        {"parts": [{}]},
    ),
    "the last item leaves an empty list": ({"parts": [{"name": "a"}]}, {"f:parts": {A: {".": {}}}}, {"parts": []}),
    "a whole map": ({"limits": {"a": "1"}, "replicas": 1}, {"f:limits": {".": {}, "f:a": {}}}, {"replicas": 1}),
    "an item": ({"parts": [{"name": "a"}, {"name": "b"}]}, {"f:parts": {A: {".": {}}}}, {"parts": [{"name": "b"}]}),
    "part of an item": (
        {"parts": [{"name": "a", "size": 1}]},
        {"f:parts": {A: {"f:size": {}}}},
        {"parts": [{"name": "a"}]},
    ),
    "below a leaf": ({"args": ["a"], "replicas": 1}, {"f:args": {"i:0": {}}}, {"args": [], "replicas": 1}),
    "items without a key stay": ({"parts": [{"size": 1}]}, {"f:parts": {A: {}}}, {"parts": [{"size": 1}]}),
    "what is not there": ({"replicas": 1}, {"f:limits": {}}, {"replicas": 1}),
}


@pytest.mark.parametrize(("spec", "fields", "expected"), CASES.values(), ids=CASES)
def test_remove_fields_returns_the_tree_without_the_members(widget, spec, fields, expected):
    assert remove_fields({"spec": spec}, {"f:spec": fields}, root_shape(widget)) == {"spec": expected}
