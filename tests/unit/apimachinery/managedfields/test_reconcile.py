"""Sets that were written under another schema."""

from __future__ import annotations

from steersman.apimachinery.managedfields.reconcile import reconcile, with_named_fields
from steersman.apimachinery.managedfields.shapes import root_shape


def test_reconcile_replaces_parts_of_a_field_that_became_atomic(widget):
    node = {"f:spec": {"f:args": {'v:"a"': {}}, "f:ref": {"f:name": {}}, "f:selector": {"f:a": {}}, "f:replicas": {}}}
    assert reconcile(node, root_shape(widget)) == {
        "f:spec": {"f:args": {}, "f:ref": {}, "f:selector": {}, "f:replicas": {}}
    }


def test_reconcile_returns_the_same_node_when_unchanged(widget):
    node = {"f:spec": {"f:limits": {"f:a": {}}, "f:tags": {'v:"a"': {}}, "f:extra": {"f:x": {"f:y": {}}}}}
    assert reconcile(node, root_shape(widget)) is node


def test_reconcile_keeps_unknown_fields(widget):
    node = {"f:spec": {"f:gone": {"f:x": {}}, "f:parts": {'k:{"name":"a"}': {"f:gone": {"f:y": {}}}}}}
    assert reconcile(node, root_shape(widget)) is node


def test_with_named_fields_adds_declared_fields_but_not_map_keys(widget):
    node = {"f:spec": {"f:nested": {"f:x": {"f:size": {}}}, "f:parts": {'k:{"name":"a"}': {"f:size": {}}}}}
    assert with_named_fields(node, root_shape(widget)) == {
        "f:spec": {
            ".": {},
            "f:nested": {".": {}, "f:x": {"f:size": {}}},
            "f:parts": {".": {}, 'k:{"name":"a"}': {"f:size": {}}},
        }
    }
