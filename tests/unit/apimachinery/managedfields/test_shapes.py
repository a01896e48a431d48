"""Owned parts of values by type."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.shapes import is_strict, root_shape


def owned(widget, spec):
    return root_shape(widget).below({"spec": spec})["f:spec"]


def everything(widget, spec):
    return root_shape(widget).everything({"spec": spec})["f:spec"]


def test_below_contains_leaves_and_map_keys_but_not_objects(widget):
    assert owned(widget, {"replicas": 1, "limits": {"cpu": "1"}, "nested": {"x": {"size": 1}}}) == {
        "f:limits": {"f:cpu": {}},
        "f:nested": {"f:x": {".": {}, "f:size": {}}},
        "f:replicas": {},
    }


def test_shape_of_atomic_types_is_a_leaf(widget):
    spec = {"args": ["a"], "selector": {"a": "b"}, "ref": {"name": "x"}, "raw": {"a": [1]}}
    assert owned(widget, spec) == {"f:args": {}, "f:raw": {}, "f:ref": {}, "f:selector": {}}
    assert everything(widget, spec) == {".": {}, "f:args": {}, "f:raw": {}, "f:ref": {}, "f:selector": {}}


def test_shape_of_untyped_field_is_deduced_from_its_value(widget):
    assert owned(widget, {"anything": {"a": [1], "b": {"c": {}}}}) == {
        "f:anything": {"f:a": {}, "f:b": {".": {}, "f:c": {}}}
    }
    assert everything(widget, {"anything": {"a": [1]}}) == {".": {}, "f:anything": {".": {}, "f:a": {}}}
    for leaf in ([1, {"a": 2}], "text", 5, True, {}, None):
        assert owned(widget, {"anything": leaf}) == {"f:anything": {}}


def test_below_contains_items_of_associative_lists(widget):
    assert owned(widget, {"ports": [{"port": 80, "name": "x"}, {"port": 8, "protocol": "UDP"}]}) == {
        "f:ports": {
            'k:{"port":8,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}},
            'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}},
        }
    }


def test_below_contains_items_of_sets(widget):
    assert owned(widget, {"tags": ["b", "a"]}) == {"f:tags": {'v:"a"': {}, 'v:"b"': {}}}


def test_below_and_everything_have_items_in_the_order_of_their_elements(widget):
    ordered = ['k:{"name":"B"}', 'k:{"name":"a"}', 'k:{"name":"a\\"b"}', 'k:{"name":"é"}']
    parts = [{"name": name, "size": 1} for name in ("é", "a", 'a"b', "B", "a")]
    assert list(owned(widget, {"parts": parts})["f:parts"]) == ordered
    assert list(everything(widget, {"parts": parts})["f:parts"]) == [".", *ordered]


def test_below_owns_duplicate_items_as_a_whole(widget):
    assert owned(widget, {"parts": [{"name": "a", "size": 1}, {"name": "a", "size": 2}]}) == {
        "f:parts": {'k:{"name":"a"}': {}}
    }


def test_below_contains_nulls_and_empty_objects_but_not_empty_lists(widget):
    assert owned(widget, {"tags": [], "parts": None, "limits": {}, "args": [], "extra": {}}) == {
        "f:args": {},
        "f:extra": {},
        "f:limits": {},
        "f:parts": {},
    }


def test_shape_of_undeclared_fields_is_deduced_from_the_value(widget):
    spec = {"extra": {"known": "x", "free": {"list": [1], "deep": {"a": 1}, "empty": {}}}}
    assert owned(widget, spec) == {
        "f:extra": {
            "f:free": {".": {}, "f:deep": {".": {}, "f:a": {}}, "f:empty": {}, "f:list": {}},
            "f:known": {},
        }
    }


def test_everything_contains_objects_too(widget):
    assert everything(widget, {"nested": {"x": {"size": 1}}, "tags": []}) == {
        ".": {},
        "f:nested": {".": {}, "f:x": {".": {}, "f:size": {}}},
        "f:tags": {},
    }


def test_everything_is_in_upstreams_order_however_a_client_orders_the_fields(widget):
    for limits in ({"b": "1", "a": "2"}, {"a": "1", "b": "2"}):
        assert list(everything(widget, {"replicas": 1, "limits": limits})["f:limits"]) == [".", "f:a", "f:b"]
    for spec in ({"tags": ["x"], "args": []}, {"args": [], "tags": ["y"]}):
        assert list(everything(widget, spec)) == [".", "f:args", "f:tags"]


@pytest.mark.parametrize("count", [47, 48, 49, 70])
def test_everything_contains_the_keys_of_maps_of_any_size(widget, count):
    limits = {f"key-{number:03}": "1" for number in reversed(range(count))}
    expected = {".": {}, **{f"f:key-{number:03}": {} for number in range(count)}}
    for _ in range(2):
        fields = everything(widget, {"limits": limits})["f:limits"]
        assert list(fields.items()) == list(expected.items())


def test_everything_distinguishes_parts_of_objects_with_the_same_names(widget):
    for limits in ({"a": "1"}, {"b": "1"}, {}, None, {"a": "1"}):
        expected = {} if not limits else {".": {}, **{f"f:{name}": {} for name in limits}}
        assert everything(widget, {"limits": limits, "replicas": 1}) == {
            ".": {},
            "f:limits": expected,
            "f:replicas": {},
        }


def test_below_skips_items_without_key(widget):
    assert owned(widget, {"parts": [{"size": 1}, {"name": "a"}]}) == {
        "f:parts": {'k:{"name":"a"}': {".": {}, "f:name": {}}}
    }


def test_is_strict_is_false_for_untyped_parts(widget, deployment):
    assert is_strict(deployment)
    assert not is_strict(widget)
