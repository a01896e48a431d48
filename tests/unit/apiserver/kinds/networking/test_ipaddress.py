from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named, texts

from steersman.apiserver.kinds.networking.ipaddress import IPAddressStrategy

STRATEGY = IPAddressStrategy()
PARENT = {"resource": "services", "namespace": "n", "name": "s"}
ADDRESS = named("10.0.0.1", spec={"parentRef": PARENT})


@pytest.mark.parametrize(
    ("name", "is_fine"), [("10.0.0.1", True), ("fd00::1", True), ("FD00::1", False), ("010.0.0.1", False), ("a", False)]
)
def test_name_errors_require_canonical_address(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({}, []),
        ({"spec.parentRef": None}, ["spec.parentRef: Required value"]),
        ({"spec.parentRef.resource": ""}, ["spec.parentRef.resource: Required value"]),
        ({"spec.parentRef.name": "a/b"}, ["spec.parentRef.name: Invalid value: \"a/b\": may not contain '/'"]),
        ({"spec.parentRef.namespace": ".."}, ["spec.parentRef.namespace: Invalid value: \"..\": may not be '..'"]),
    ],
)
def test_validate_rejects_invalid_parent(edits, faults):
    assert texts(STRATEGY.validate(CONTEXT, edited(ADDRESS, edits))) == faults


def test_validate_update_rejects_change_of_parent():
    new = edited(ADDRESS, {"spec.parentRef": {"resource": "services", "name": "t"}})
    assert texts(STRATEGY.validate_update(CONTEXT, new, ADDRESS)) == [
        'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"","Name":"t"}: field is immutable'
    ]


@pytest.mark.parametrize(
    ("parent", "shown"),
    [
        (PARENT, "services/n/s"),
        ({"group": "example.com", "resource": "things", "name": "t"}, "things.example.com/t"),
    ],
)
def test_cells_show_parent(parent, shown):
    assert STRATEGY.cells(edited(ADDRESS, {"spec.parentRef": parent}), NOW) == ["10.0.0.1", shown]
