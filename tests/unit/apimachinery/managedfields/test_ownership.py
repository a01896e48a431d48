"""Who owns what after a write: the parts that updates and applies share."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.conflicts import OwnershipError
from steersman.apimachinery.managedfields.entries import APPLY, UPDATE, Owned, owner_of
from steersman.apimachinery.managedfields.ownership import filter_of, ownable, reconcile_all, settle
from steersman.apimachinery.managedfields.schema import Schema
from steersman.schema.loader import struct_for

A = owner_of("a", APPLY, "v1", "")
B = owner_of("b", UPDATE, "v1", "")


def owned(fields):
    return Owned(fields, "v1", "")


def test_identity_is_not_ownable():
    fields = {"f:apiVersion": {}, "f:metadata": {".": {}, "f:name": {}, "f:labels": {"f:x": {}}}, "f:spec": {}}
    assert ownable(fields) == {"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": {}}
    assert ownable({"f:kind": {}, "f:metadata": {"f:uid": {}}}) == {}


def test_reset_fields_are_paths_a_filter_or_nothing():
    node = {"f:spec": {}, "f:status": {"f:a": {}}}
    assert filter_of(()) is None
    assert filter_of([("status",)])(node) == {"f:spec": {}}
    assert filter_of(ownable) is ownable


def settled(managed, *, own=None, force=True, data=None):
    live = {"metadata": {}, "data": {"k": "1", "l": "1"}}
    new = {"metadata": {}, "data": {"k": "2"} if data is None else data}
    schema = Schema(struct_for("", "v1", "ConfigMap"), "v1", None)
    return settle(live, new, managed, schema=schema, reset=None, own=own, force=force)


def test_everybody_but_the_writer_loses_what_changes_and_what_goes():
    managed = {
        A: owned({"f:data": {".": {}, "f:k": {}, "f:l": {}}}),
        B: owned({"f:data": {"f:k": {}, "f:l": {}}}),
    }
    comparison = settled(managed, own=B)
    assert managed == {A: owned({"f:data": {}}), B: owned({"f:data": {"f:k": {}, "f:l": {}}})}
    assert comparison == ({"f:data": {"f:k": {}}}, {"f:data": {"f:l": {}}})


def test_who_has_nothing_left_is_dropped():
    managed = {A: owned({"f:data": {"f:k": {}}})}
    settled(managed)
    assert managed == {}


def test_without_force_nothing_is_taken():
    managed = {A: owned({"f:data": {"f:k": {}}})}
    with pytest.raises(OwnershipError) as error:
        settled(managed, force=False)
    assert error.value.conflicts == {A: {"f:data": {"f:k": {}}}}
    assert managed == {A: owned({"f:data": {"f:k": {}}})}


def test_removal_is_no_conflict():
    managed = {A: owned({"f:data": {"f:l": {}}})}
    settled(managed, force=False, data={"k": "1"})
    assert managed == {}


def test_owners_are_reconciled_with_the_type(widget):
    managed = {A: owned({"f:spec": {"f:ref": {"f:name": {}}}}), B: Owned({"f:x": {}}, "v0", "")}
    reconcile_all(managed, Schema(widget, "v1", None))
    assert managed == {A: owned({"f:spec": {"f:ref": {}}}), B: Owned({"f:x": {}}, "v0", "")}
