from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named, texts

from steersman.apiserver.kinds.storage.volumeattributesclass import VolumeAttributesClassStrategy

STRATEGY = VolumeAttributesClassStrategy()
CLASS = named(driverName="a.com", parameters={"iops": "1"})


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({}, []),
        ({"driverName": ""}, ["driverName: Required value"]),
        ({"parameters": {}}, ["parameters: Required value: must contain at least one key/value pair"]),
    ],
)
def test_validate_rejects_invalid_fields(edits, faults):
    assert texts(STRATEGY.validate(CONTEXT, edited(CLASS, edits))) == faults


@pytest.mark.parametrize(
    ("edits", "name"), [({"driverName": "b.com"}, "driverName"), ({"parameters": {"iops": "2"}}, "parameters")]
)
def test_validate_update_rejects_change_of_driver_and_parameters(edits, name):
    assert texts(STRATEGY.validate_update(CONTEXT, edited(CLASS, edits), CLASS)) == [
        f"{name}: Forbidden: updates to {name} are forbidden."
    ]


def test_validate_update_reports_changes_before_invalid_fields():
    faults = texts(STRATEGY.validate_update(CONTEXT, edited(CLASS, {"driverName": ""}), CLASS))
    assert faults == ["driverName: Forbidden: updates to driverName are forbidden.", "driverName: Required value"]


def test_cells_show_driver():
    assert STRATEGY.cells(CLASS, NOW) == ["a", "a.com", "60s"]


def test_cells_mark_the_default_class():
    annotations = {"volumeattributesclass.alpha.kubernetes.io/is-default-class": "true"}
    default = {**CLASS, "metadata": {**CLASS["metadata"], "annotations": annotations}}
    assert STRATEGY.cells(default, NOW)[0] == "a (default)"
