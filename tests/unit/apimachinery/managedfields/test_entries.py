"""The wire form of ownership."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields import entries
from steersman.apimachinery.managedfields.entries import (
    APPLY,
    UPDATE,
    MalformedError,
    Owned,
    Owner,
    cap_update_managers,
    fault_in,
    is_reset,
    owner_of,
    parse,
    read,
    write,
)


def entry(manager="m", operation="Update", version="v1", fields=None, **more):
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {}} if fields is None else fields,
        **more,
    }


def test_write_restores_the_entries_of_read():
    value = [
        entry("b", "Apply", time="2024-01-01T00:00:00Z"),
        entry("a", "Update", time="2024-01-01T00:00:00Z", subresource="status"),
    ]
    assert write(read(value)) == value


@pytest.mark.parametrize("stored", [None, [], [{}], ["x"], "x", 3, [{"operation": "Apply"}]])
def test_read_ignores_malformed_entries(stored):
    assert read(stored) == {}


def test_write_orders_fields_as_upstream():
    managed = {owner_of("m", UPDATE, "v1", "status"): Owned({"f:a": {}}, "v1", "2024-01-01T00:00:00Z")}
    assert list(write(managed)[0]) == [
        "manager",
        "operation",
        "apiVersion",
        "time",
        "fieldsType",
        "fieldsV1",
        "subresource",
    ]


def test_write_omits_an_empty_time():
    assert "time" not in write({owner_of("m", APPLY, "v1", ""): Owned({"f:a": {}}, "v1", "")})[0]


def test_write_sorts_by_operation_time_manager_version_subresource():
    ordered = [
        entry("z", "Apply"),
        entry("a", "Apply", time="2024-01-01T00:00:00Z"),
        entry("a", "Update", time="2024-01-01T00:00:00Z"),
        entry("b", "Update", "v1", time="2024-01-01T00:00:00Z"),
        entry("b", "Update", "v2", time="2024-01-01T00:00:00Z"),
        entry("b", "Update", "v2", time="2024-01-01T00:00:00Z", subresource="status"),
        entry("a", "Update", "v2", time="2024-01-02T00:00:00Z"),
    ]
    assert write(read(reversed(ordered))) == ordered


def test_owner_of_ignores_the_version_for_apply_only():
    assert len(read([entry(operation="Apply", version="v1"), entry(operation="Apply", version="v2")])) == 1
    assert len(read([entry(version="v1"), entry(version="v2")])) == 2


def test_owner_of_names_an_empty_manager_unknown():
    assert owner_of("", UPDATE, "v1", "").manager == "unknown"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], True),
        ([{}], True),
        ([{"manager": "", "time": None}], True),
        (None, False),
        ([{"manager": "m"}], False),
        ([{}, {}], False),
    ],
)
def test_is_reset_for_an_empty_list_or_one_empty_entry(value, expected):
    assert is_reset(value) is expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"operation": "Create"}, "operation must be `Apply` or `Update`"),
        ({"operation": None}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": ""}, "apiVersion must not be empty"),
        ({"fieldsType": None}, "missing fieldsType in managed fields entry 0"),
        ({"fieldsType": "FieldsV2"}, 'invalid fieldsType "FieldsV2" in managed fields entry 0'),
        ({"fieldsV1": {"x": {}}}, "error decoding versioned set: key must be 2 characters long: x"),
    ],
)
def test_parse_raises_for_malformed_entries(change, message):
    with pytest.raises(MalformedError):
        parse([{**entry(), **change}])
    assert fault_in([{**entry(), **change}]) == message


def test_fault_in_is_empty_for_valid_entries():
    assert fault_in([entry()]) == ""
    assert fault_in(None) == ""


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        (Owner("m", APPLY, "", ""), '"m"'),
        (Owner("m", UPDATE, "apps/v1", ""), '"m" using apps/v1'),
        (Owner("m", UPDATE, "apps/v1", "scale"), '"m" with subresource "scale" using apps/v1'),
        (Owner("m", APPLY, "", "status"), '"m" with subresource "status"'),
    ],
)
def test_owner_text_is_that_of_conflicts(owner, text):
    assert str(owner) == text


def updaters(count, version="v1"):
    return {
        Owner(f"m{number:02}", UPDATE, version, ""): Owned(
            {f"f:{version}-{number}": {}}, version, f"2024-01-01T00:00:{number:02}Z"
        )
        for number in range(count)
    }


def test_cap_update_managers_keeps_ten():
    managed = updaters(entries.UPDATE_MANAGERS_MAX)
    cap_update_managers(managed)
    assert managed == updaters(entries.UPDATE_MANAGERS_MAX)


def test_cap_update_managers_merges_the_oldest_into_one_bucket():
    managed = updaters(12)
    cap_update_managers(managed)
    bucket = managed[Owner("ancient-changes", UPDATE, "v1", "")]
    assert len(managed) == 10
    assert set(bucket.fields) == {"f:v1-0", "f:v1-1", "f:v1-2"}
    assert bucket.time == "2024-01-01T00:00:02Z"


def test_cap_update_managers_extends_an_existing_bucket():
    managed = updaters(11)
    cap_update_managers(managed)
    managed[Owner("new", UPDATE, "v1", "")] = Owned({"f:new": {}}, "v1", "2024-02-01T00:00:00Z")
    cap_update_managers(managed)
    assert len(managed) == 10
    assert set(managed[Owner("ancient-changes", UPDATE, "v1", "")].fields) == {"f:v1-0", "f:v1-1", "f:v1-2"}


def test_cap_update_managers_has_one_bucket_per_version():
    managed = {**updaters(6, "v1"), **updaters(6, "v2")}
    cap_update_managers(managed)
    assert len(managed) == 10
    assert {owner.api_version for owner in managed if owner.manager == "ancient-changes"} == {"v1", "v2"}


def test_cap_update_managers_never_merges_appliers():
    managed = {Owner(f"a{number}", APPLY, "", ""): Owned({"f:a": {}}, "v1", "") for number in range(20)}
    cap_update_managers(managed)
    assert len(managed) == 20
