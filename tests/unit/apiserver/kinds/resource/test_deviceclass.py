from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named, texts

from steersman.apiserver.kinds.resource.deviceclass import DeviceClassStrategy

STRATEGY = DeviceClassStrategy()
CONFIG = {"opaque": {"driver": "d.com", "parameters": {"a": 1}}}
CLASS = named(spec={"selectors": [{"cel": {"expression": "true"}}], "config": [CONFIG]})


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({}, []),
        ({"spec.selectors": [{}]}, ["spec.selectors[0].cel: Required value"]),
    ],
)
def test_validate_and_validate_update_apply_same_rules(edits, faults):
    new = edited(CLASS, edits)
    assert texts(STRATEGY.validate(CONTEXT, new)) == faults
    assert texts(STRATEGY.validate_update(CONTEXT, new, CLASS)) == faults


def test_validate_update_accepts_stored_large_parameters():
    old = edited(CLASS, {"spec.config.0.opaque.parameters": {"a": "b" * 10240}})
    assert texts(STRATEGY.validate(CONTEXT, old)) == [
        "spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes"
    ]
    assert texts(STRATEGY.validate_update(CONTEXT, old, old)) == []


def test_generation_view_follows_spec():
    assert STRATEGY.has_generation is True


def test_cells_show_age():
    assert STRATEGY.cells(CLASS, NOW) == ["a", "60s"]
