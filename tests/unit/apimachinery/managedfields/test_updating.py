"""Ownership after creates, updates and patches."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apimachinery.managedfields.creating import Creation
from steersman.apimachinery.managedfields.schema import UnknownVersionError
from steersman.apimachinery.managedfields.updating import create_managed_fields, update

T1, T2 = "2024-01-01T00:00:01Z", "2024-01-01T00:00:02Z"


def cm(data=None, **metadata) -> dict[str, Any]:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}}
    return obj if data is None else {**obj, "data": data}


def owners(obj):
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): (entry["fieldsV1"], entry.get("time"))
        for entry in obj["metadata"].get("managedFields", [])
    }


@pytest.fixture
def write(config_map):
    def write(live, new, manager="one", time=T1, **options):
        new = copy.deepcopy(new)
        update(live, new, struct=config_map, manager=manager, api_version="v1", time=time, **options)
        return new

    return write


@pytest.fixture
def live(write):
    return write(None, cm({"k": "v", "l": "w"}, uid="u", labels={"x": "y"}))


def test_update_of_a_new_object_owns_all_but_identity(live):
    fields = {"f:data": {".": {}, "f:k": {}, "f:l": {}}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}}
    assert owners(live) == {("one", "Update", ""): (fields, T1)}


def test_update_of_an_empty_object_has_no_owners(write):
    assert "managedFields" not in write(None, cm())["metadata"]


def test_update_excludes_structs_held_by_value(deployment):
    new = {
        "metadata": {"name": "d"},
        "spec": {
            "selector": {},
            "strategy": {"type": "Recreate"},
            "template": {"metadata": {}, "spec": {"containers": []}},
        },
        "status": {},
    }
    update(None, new, struct=deployment, manager="m", api_version="apps/v1", time=T1)
    fields = new["metadata"]["managedFields"][0]["fieldsV1"]
    assert fields["f:spec"]["f:strategy"] == {"f:type": {}}
    assert "." not in fields["f:spec"]
    assert "f:status" not in fields


def test_update_of_a_custom_kind_owns_objects(widget):
    new = {"metadata": {"name": "d"}, "spec": {"replicas": 1}}
    update(None, new, struct=widget, manager="m", api_version="e/v1", time=T1)
    assert new["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {".": {}, "f:replicas": {}}}


def test_update_takes_ownership_of_changed_fields(live, write):
    new = write(live, cm({"k": "v2", "l": "w"}, uid="u", labels={"x": "y"}), "two", T2)
    rest = {"f:data": {".": {}, "f:l": {}}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}}
    assert owners(new) == {("one", "Update", ""): (rest, T1), ("two", "Update", ""): ({"f:data": {"f:k": {}}}, T2)}


def test_update_that_removes_fields_sets_no_time(live, write):
    new = write(live, cm({"k": "v"}, uid="u", labels={"x": "y"}), "two", T2)
    rest = {"f:data": {".": {}, "f:k": {}}, "f:metadata": {"f:labels": {".": {}, "f:x": {}}}}
    assert owners(new) == {("one", "Update", ""): (rest, T1)}


def test_update_drops_managers_without_fields(live, write):
    assert owners(write(live, cm(uid="u"), "two", T2)) == {}


def test_update_without_effect_keeps_all_entries(live, write):
    new = write(live, live, "two", T2)
    assert new["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_update_of_an_owned_field_sets_the_time(live, write):
    new = write(live, cm({"k": "v2", "l": "w"}, uid="u", labels={"x": "y"}), "one", T2)
    assert owners(new) == {("one", "Update", ""): (owners(live)["one", "Update", ""][0], T2)}


def test_update_without_managed_fields_keeps_them(live, write):
    assert owners(write(live, cm({"k": "v", "l": "w"}, uid="u", labels={"x": "y"}), "two")) == owners(live)


@pytest.mark.parametrize("value", [[], [{}]])
def test_update_after_a_reset_tracks_nothing(live, write, value):
    cleared = write(live, cm({"k": "x"}, uid="u", managedFields=value), "two")
    assert "managedFields" not in cleared["metadata"]
    assert "managedFields" not in write(cleared, cm({"k": "y"}, uid="u"), "two")["metadata"]


@pytest.mark.parametrize(
    "change", [{"operation": "Guess"}, {"fieldsType": "FieldsV9"}, {"apiVersion": ""}, {"fieldsV1": {"x": {}}}]
)
def test_update_ignores_malformed_managed_fields(live, write, change):
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"][0].update(change)
    assert write(live, new, "two")["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_update_accepts_a_renamed_owner(live, write):
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"][0].update(manager="renamed", operation="Apply", time="2020-01-01T00:00:00Z")
    fields, _ = owners(live)["one", "Update", ""]
    assert owners(write(live, new, "two")) == {("renamed", "Apply", ""): (fields, "2020-01-01T00:00:00Z")}


def test_update_ignores_managed_fields_of_a_create(write):
    value = {
        "manager": "x",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:k": {}}},
    }
    assert set(owners(write(None, cm({"k": "v"}, managedFields=[value])))) == {("one", "Update", "")}


def test_update_of_a_subresource_ignores_requested_entries(live, write):
    value = copy.deepcopy(live)
    value["data"]["k"] = "z"
    value["metadata"]["managedFields"] = []
    new = write(live, value, "one", T2, subresource="status")
    assert owners(new)["one", "Update", "status"] == ({"f:data": {"f:k": {}}}, T2)
    assert owners(new)["one", "Update", ""][1] == T1


def test_update_never_owns_reset_fields(widget):
    new = {"metadata": {"name": "d"}, "spec": {"replicas": 1}, "status": {"replicas": 2}}
    update(None, new, struct=widget, manager="m", api_version="e/v1", time=T1, reset_fields=(("status",),))
    assert list(new["metadata"]["managedFields"][0]["fieldsV1"]) == ["f:spec"]


def test_update_accepts_a_filter_of_owned_fields(widget):
    new = {"metadata": {"name": "d"}, "spec": {"replicas": 1}}
    update(None, new, struct=widget, manager="m", api_version="e/v1", time=T1, reset_fields=lambda _: {})
    assert "managedFields" not in new["metadata"]


def test_update_of_an_incomparable_object_keeps_its_owners(widget):
    live = {"metadata": {"name": "d", "uid": "u"}, "spec": {"parts": [{"name": "a"}]}}
    update(None, live, struct=widget, manager="m", api_version="e/v1", time=T1)
    new = {"metadata": {"name": "d", "uid": "u"}, "spec": {"parts": [{"size": 1}]}}
    update(live, new, struct=widget, manager="two", api_version="e/v1", time=T2)
    assert new["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_update_does_not_mutate_the_live_object(live, write, config_map):
    before = copy.deepcopy(live)
    new = {**live, "data": {"k": "2"}}
    update(live, new, struct=config_map, manager="two", api_version="v1", time=T2)
    assert live == before


def test_update_merges_many_managers_into_ancient_changes(live, write):
    obj = live
    for number in range(12):
        changed = copy.deepcopy(obj)
        changed["data"][f"k{number}"] = "v"
        obj = write(obj, changed, f"m{number}", f"2024-01-01T00:01:{number:02}Z")
    names = {manager for manager, _, _ in owners(obj)}
    assert len(names) == 10
    assert "ancient-changes" in names


class Renamed:
    """Second version, in which the data key ``k`` is ``K``."""

    def __init__(self, struct) -> None:
        self.of_all = struct

    def struct(self, api_version):
        if api_version != "v2":
            raise UnknownVersionError(api_version)
        return self.of_all

    def convert(self, tree, api_version):
        data = {"K" if key == "k" else key: value for key, value in tree["data"].items()}
        return {**tree, "apiVersion": api_version, "data": data}


def entry_of(version, fields):
    return {"manager": "x", "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields}


def test_update_removes_changed_fields_from_owners_of_other_versions(write, config_map):
    live = cm({"k": "v", "l": "w"}, uid="u", managedFields=[entry_of("v2", {"f:data": {"f:K": {}, "f:l": {}}})])
    new = write(live, cm({"k": "2", "l": "w"}, uid="u"), "two", versions=Renamed(config_map))
    assert owners(new) == {
        ("x", "Update", ""): ({"f:data": {"f:l": {}}}, None),
        ("two", "Update", ""): ({"f:data": {"f:k": {}}}, T1),
    }


def test_update_drops_owners_of_versions_that_are_not_served(write, config_map):
    live = cm({"k": "v"}, uid="u", managedFields=[entry_of("v0", {"f:data": {"f:k": {}}})])
    new = write(live, cm({"k": "v", "l": "w"}, uid="u"), "two", versions=Renamed(config_map))
    assert set(owners(new)) == {("two", "Update", "")}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "port", "size", "tags", "a"]), below, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    ["replicas", "ports", "parts", "tags", "args", "limits", "ref", "extra", "anything", "nested", "zzz"]
)
SPECS = st.dictionaries(FIELDS, JSON, max_size=5) | JSON


@settings(max_examples=150)
@given(SPECS, SPECS, JSON)
def test_update_never_raises_for_any_object(widget, before, after, given_fields):
    live = {"metadata": {"name": "d", "uid": "u"}, "spec": before}
    update(None, live, struct=widget, manager="one", api_version="e/v1", time=T1)
    new = {"metadata": {"name": "d", "managedFields": [given_fields]}, "spec": after, "status": before}
    update(live, new, struct=widget, manager="two", api_version="e/v1", time=T2)
    assert new["spec"] == after


@settings(max_examples=150)
@given(SPECS, st.sampled_from(["one", ""]))
def test_create_managed_fields_equals_update(widget, spec, manager):
    long, short = ({"metadata": {"name": "d", "labels": {"a": "b"}}, "spec": spec} for _ in range(2))
    update(None, long, struct=widget, manager=manager, api_version="e/v1", time=T1)
    create_managed_fields(short, Creation(widget), manager=manager, api_version="e/v1", time=T1)
    assert short == long
