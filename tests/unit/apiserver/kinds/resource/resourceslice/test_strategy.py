from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, named

from steersman.apimachinery.timestamps import format_time
from steersman.apiserver.kinds.resource.resourceslice.strategy import ResourceSliceStrategy

STRATEGY = ResourceSliceStrategy()
POOL = {"name": "p"}


@pytest.mark.parametrize(
    ("spec", "cells"),
    [
        ({"driver": "d.com", "pool": POOL, "nodeName": "n"}, ["a", "n", "d.com", "p", "60s"]),
        ({"driver": "d.com", "pool": POOL, "allNodes": True}, ["a", "<unset>", "d.com", "p", "60s"]),
    ],
)
def test_cells_show_node_driver_and_pool(spec, cells):
    assert STRATEGY.cells(named(spec=spec), NOW) == cells


@pytest.mark.parametrize("label", ["spec.nodeName", "spec.driver"])
def test_field_labels_select_by_node_and_driver(label):
    assert STRATEGY.field_labels[label](named(spec={label.partition(".")[2]: "x"})) == "x"
    assert STRATEGY.field_labels[label](named(spec={})) == ""


def test_resource_is_cluster_scoped():
    assert STRATEGY.namespace_field_label is False


@pytest.mark.parametrize(
    ("driver", "warnings"),
    [
        ("d.com", []),
        ("D.com", ['spec.driver: driver names should be lowercase; "D.com" contains uppercase characters']),
    ],
)
def test_warnings_about_upper_case_drivers(driver, warnings):
    assert list(STRATEGY.warnings(CONTEXT, named(spec={"driver": driver}), None)) == warnings


def tainted(**taint):
    devices = [{"name": "a", "taints": [{"key": "k", "effect": "NoExecute", **taint}]}]
    return named(spec={"driver": "d.com", "pool": POOL, "devices": devices})


@pytest.mark.parametrize(
    ("taint", "of_old", "since"),
    [
        ({}, None, "now"),
        ({"timeAdded": "error_texts"}, None, "error_texts"),
        ({}, {"timeAdded": "before"}, "before"),
        ({"timeAdded": "error_texts"}, {"timeAdded": "before"}, "error_texts"),
        ({"value": "v"}, {"timeAdded": "before"}, "now"),
        ({"effect": "NoSchedule"}, {"timeAdded": "before"}, "now"),
    ],
)
def test_prepare_sets_time_added_of_taints(taint, of_old, since):
    """An existing taint keeps its time, also if an update omits it."""
    obj = tainted(**taint)
    if of_old is None:
        STRATEGY.prepare_for_create(CONTEXT, obj)
    else:
        STRATEGY.prepare_for_update(CONTEXT, obj, tainted(**of_old))
    now = format_time(CONTEXT.now)
    assert obj["spec"]["devices"][0]["taints"][0]["timeAdded"] == (now if since == "now" else since)


def with_device(**fields):
    return named(spec={"driver": "d.com", "pool": POOL, "devices": [{"name": "a", **fields}]})


@pytest.mark.parametrize(
    ("fields", "remaining"),
    [
        ({"attributes": {"a": {"int": 1, "ints": [1]}}}, {"attributes": {"a": {"int": 1}}}),
        ({"attributes": {"a": {"bools": [True]}, "b": {"versions": ["1.0.0"]}}}, {"attributes": {"a": {}, "b": {}}}),
        ({"attributes": {"a": {"strings": []}}}, {"attributes": {"a": {}}}),
        ({"nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "a"}}}, {}),
    ],
)
def test_prepare_drops_fields_of_disabled_features_unless_the_old_object_has_them(fields, remaining):
    created = with_device(**fields)
    STRATEGY.prepare_for_create(CONTEXT, created)
    assert created["spec"]["devices"] == [{"name": "a", **remaining}]
    updated = with_device(**fields)
    STRATEGY.prepare_for_update(CONTEXT, updated, with_device())
    assert updated["spec"]["devices"] == [{"name": "a", **remaining}]


def test_prepare_for_update_keeps_fields_of_disabled_features_that_the_old_object_has():
    fields = {
        "attributes": {"a": {"strings": ["x"]}},
        "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "a"}},
    }
    updated = with_device(**fields)
    STRATEGY.prepare_for_update(CONTEXT, updated, with_device(**fields))
    assert updated == {**with_device(**fields), "metadata": updated["metadata"]}
