"""Owners after a write: the rules shared by update and apply."""

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


def test_ownable_excludes_identity_fields():
    fields = {"f:apiVersion": {}, "f:metadata": {".": {}, "f:name": {}, "f:labels": {"f:x": {}}}, "f:spec": {}}
    assert ownable(fields) == {"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": {}}
    assert ownable({"f:kind": {}, "f:metadata": {"f:uid": {}}}) == {}


def test_filter_of_accepts_paths_a_filter_or_none():
    node = {"f:spec": {}, "f:status": {"f:a": {}}}
    assert filter_of(()) is None
    assert filter_of([("status",)])(node) == {"f:spec": {}}
    assert filter_of(ownable) is ownable


def settled(managed, *, own=None, force=True, data=None):
    live = {"metadata": {}, "data": {"k": "1", "l": "1"}}
    new = {"metadata": {}, "data": {"k": "2"} if data is None else data}
    schema = Schema(struct_for("", "v1", "ConfigMap"), "v1", None)
    return settle(live, new, managed, schema=schema, reset=None, own=own, force=force)


def test_settle_removes_changed_and_removed_fields_from_other_owners():
    managed = {
        A: owned({"f:data": {".": {}, "f:k": {}, "f:l": {}}}),
        B: owned({"f:data": {"f:k": {}, "f:l": {}}}),
    }
    comparison = settled(managed, own=B)
    assert managed == {A: owned({"f:data": {}}), B: owned({"f:data": {"f:k": {}, "f:l": {}}})}
    assert comparison == ({"f:data": {"f:k": {}}}, {"f:data": {"f:l": {}}})


def test_settle_drops_owners_without_fields():
    managed = {A: owned({"f:data": {"f:k": {}}})}
    settled(managed)
    assert managed == {}


def test_settle_raises_conflicts_without_force():
    managed = {A: owned({"f:data": {"f:k": {}}})}
    with pytest.raises(OwnershipError) as error:
        settled(managed, force=False)
    assert error.value.conflicts == {A: {"f:data": {"f:k": {}}}}
    assert managed == {A: owned({"f:data": {"f:k": {}}})}


def test_settle_does_not_conflict_on_removal():
    managed = {A: owned({"f:data": {"f:l": {}}})}
    settled(managed, force=False, data={"k": "1"})
    assert managed == {}


def test_reconcile_all_follows_the_present_type(widget):
    managed = {A: owned({"f:spec": {"f:ref": {"f:name": {}}}}), B: Owned({"f:x": {}}, "v0", "")}
    reconcile_all(managed, Schema(widget, "v1", None))
    assert managed == {A: owned({"f:spec": {"f:ref": {}}}), B: Owned({"f:x": {}}, "v0", "")}
