from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, named, texts

from steersman.apiserver.kinds.storage.csinode.validation import validate_csi_node, validate_csi_node_update

DRIVER = {"name": "a.com", "nodeID": "i-1", "topologyKeys": ["example.com/zone"], "allocatable": {"count": 5}}
VALID = named(spec={"drivers": [DRIVER]})
QUALIFIED_NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
AT, PATH = "spec.drivers.0", "spec.drivers[0]"


def test_validate_csi_node_accepts_valid_nodes():
    assert texts(validate_csi_node(VALID)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({f"{AT}.nodeID": ""}, f"{PATH}.nodeID: Required value"),
        ({f"{AT}.nodeID": "i" * 193}, f'{PATH}.nodeID: Invalid value: "{"i" * 193}": must be 192 characters or less'),
        (
            {f"{AT}.allocatable.count": -1},
            f"{PATH}.allocatable.count: Invalid value: -1: must be greater than or equal to 0",
        ),
        ({f"{AT}.topologyKeys": ["a", "a"]}, f'{PATH}: Duplicate value: "a"'),
        ({f"{AT}.topologyKeys": ["a", "b c"]}, f'{PATH}: Invalid value: "b c": {QUALIFIED_NAME}'),
        ({"spec.drivers": [DRIVER, DRIVER]}, 'spec.drivers[1].name: Duplicate value: "a.com"'),
        ({f"{AT}.name": ""}, f"{PATH}.name: Required value"),
    ],
)
def test_validate_csi_node_rejects_invalid_fields(edits, fault):
    assert texts(validate_csi_node(edited(VALID, edits))) == [fault]


def test_validate_csi_node_update_reports_errors_twice():
    new = edited(VALID, {"spec.drivers": [{"name": "b.com"}]})
    assert texts(validate_csi_node_update(new, VALID)) == [f"{PATH}.nodeID: Required value"] * 2


def test_validate_csi_node_update_accepts_change_of_allocatable():
    assert texts(validate_csi_node_update(edited(VALID, {f"{AT}.allocatable.count": 6}), VALID)) == []


def test_validate_csi_node_update_rejects_other_driver_changes():
    [fault] = texts(validate_csi_node_update(edited(VALID, {f"{AT}.nodeID": "i-2"}), VALID))
    assert fault.startswith('spec.drivers: Invalid value: {"Name":"a.com","NodeID":"i-2"')
    assert fault.endswith(": field is immutable")
