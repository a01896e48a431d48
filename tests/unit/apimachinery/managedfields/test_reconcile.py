"""Sets that were written under another schema."""

from __future__ import annotations

from steersman.apimachinery.managedfields.reconcile import reconcile, with_named_fields
from steersman.apimachinery.managedfields.shapes import root_shape


def test_parts_of_what_has_become_one_field_become_that_field(widget):
    node = {"f:spec": {"f:args": {'v:"a"': {}}, "f:ref": {"f:name": {}}, "f:selector": {"f:a": {}}, "f:replicas": {}}}
    assert reconcile(node, root_shape(widget)) == {
        "f:spec": {"f:args": {}, "f:ref": {}, "f:selector": {}, "f:replicas": {}}
    }


def test_a_set_that_fits_is_the_same_node(widget):
    node = {"f:spec": {"f:limits": {"f:a": {}}, "f:tags": {'v:"a"': {}}, "f:extra": {"f:x": {"f:y": {}}}}}
    assert reconcile(node, root_shape(widget)) is node


def test_fields_that_the_type_does_not_know_stay(widget):
    node = {"f:spec": {"f:gone": {"f:x": {}}, "f:parts": {'k:{"name":"a"}': {"f:gone": {"f:y": {}}}}}}
    assert reconcile(node, root_shape(widget)) is node


def test_declared_fields_on_the_way_become_members_and_map_keys_do_not(widget):
    node = {"f:spec": {"f:nested": {"f:x": {"f:size": {}}}, "f:parts": {'k:{"name":"a"}': {"f:size": {}}}}}
    assert with_named_fields(node, root_shape(widget)) == {
        "f:spec": {
            ".": {},
            "f:nested": {".": {}, "f:x": {"f:size": {}}},
            "f:parts": {".": {}, 'k:{"name":"a"}': {"f:size": {}}},
        }
    }
