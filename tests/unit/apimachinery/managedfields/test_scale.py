"""Owners of replicas through the scale subresource."""

from __future__ import annotations

from steersman.apimachinery.managedfields.scale import entries_for_parent, entries_for_scale

PATHS = {"apps/v1": ("spec", "replicas"), "e/v1": ()}
T1 = "2024-01-01T00:00:01Z"


def entry(manager, operation, fields, version="apps/v1", **more):
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": version,
        "time": T1,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


REPLICAS = {"f:spec": {"f:replicas": {}}}
OWNER = entry("one", "Apply", {"f:spec": {"f:paused": {}, "f:replicas": {}}})


def for_parent(parent, scale):
    return entries_for_parent(parent, scale, api_version="apps/v1", replicas_paths=PATHS)


def test_entries_for_scale_has_the_owners_of_replicas():
    parent = [OWNER, entry("two", "Update", {"f:spec": {"f:paused": {}}}), entry("three", "Update", REPLICAS, "e/v1")]
    assert entries_for_scale(parent, PATHS) == [entry("one", "Apply", REPLICAS, "autoscaling/v1")]


def test_entries_for_parent_transfers_replicas_without_time():
    scale = [entry("scaler", "Update", REPLICAS, "autoscaling/v1", subresource="scale")]
    expected = entry("scaler", "Update", REPLICAS, subresource="scale")
    del expected["time"]
    assert for_parent([OWNER], scale) == [entry("one", "Apply", {"f:spec": {"f:paused": {}}}), expected]


def test_entries_for_parent_drops_an_owner_of_replicas_only():
    scale = [entry("scaler", "Apply", REPLICAS, "autoscaling/v1", subresource="scale")]
    assert [result["manager"] for result in for_parent([entry("one", "Apply", REPLICAS)], scale)] == ["scaler"]


def test_entries_for_parent_keeps_unchanged_owners():
    parent = [OWNER, entry("two", "Update", REPLICAS)]
    assert for_parent(parent, entries_for_scale(parent, PATHS)) == parent


def test_entries_for_scale_drops_unknown_versions():
    assert for_parent([entry("one", "Apply", REPLICAS, "apps/v0")], []) == []


def test_entries_for_scale_is_empty_without_owners():
    assert entries_for_scale(None, PATHS) == []
    assert for_parent(None, None) == []
