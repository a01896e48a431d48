"""Times of unchanged entries."""

from __future__ import annotations

import copy

from steersman.apimachinery.managedfields.times import keep_times_of_unchanged

LIVE = {
    "metadata": {
        "name": "a",
        "resourceVersion": "5",
        "managedFields": [
            {"manager": "m", "operation": "Apply", "time": "2024-01-01T00:00:00Z", "fieldsV1": {"f:a": {}}}
        ],
    },
    "data": {"k": "v"},
}


def later(**changes):
    new = copy.deepcopy(LIVE)
    new["metadata"]["managedFields"][0].update({"time": "2024-01-02T00:00:00Z", **changes})
    return new


def test_keep_times_of_unchanged_restores_times_of_a_no_op():
    new = later()
    keep_times_of_unchanged(LIVE, new)
    assert new == LIVE


def test_keep_times_of_unchanged_ignores_a_changed_object():
    new = {**later(), "data": {"k": "w"}}
    keep_times_of_unchanged(LIVE, new)
    assert new["metadata"]["managedFields"][0]["time"] == "2024-01-02T00:00:00Z"


def test_keep_times_of_unchanged_ignores_changed_owners():
    new = later(fieldsV1={"f:a": {}, "f:b": {}})
    keep_times_of_unchanged(LIVE, new)
    assert new["metadata"]["managedFields"][0]["time"] == "2024-01-02T00:00:00Z"


def test_keep_times_of_unchanged_ignores_added_or_removed_owners():
    more = later()
    more["metadata"]["managedFields"].append({"manager": "n", "operation": "Update"})
    none = {"metadata": {"name": "a"}}
    before = copy.deepcopy((more, none))
    keep_times_of_unchanged(LIVE, more)
    keep_times_of_unchanged(LIVE, none)
    assert (more, none) == before
