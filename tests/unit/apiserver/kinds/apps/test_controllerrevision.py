from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, edited, named, texts

from steersman.apiserver.kinds.apps.controllerrevision import ControllerRevisionStrategy

STRATEGY = ControllerRevisionStrategy()
REVISION = named(data={"spec": {"a": 1}}, revision=3)


def test_validate_accepts_any_object_as_data():
    assert texts(STRATEGY.validate(CONTEXT, REVISION)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"revision": -1}, "revision: Invalid value: -1: must be greater than or equal to 0"),
        ({"data": None}, "data: Required value: data is mandatory"),
        ({"data": [1]}, "data: Required value: data must be a valid JSON object"),
    ],
)
def test_validate_rejects_invalid_fields(edits, fault):
    assert texts(STRATEGY.validate(CONTEXT, edited(REVISION, edits))) == [fault]


def test_validate_update_accepts_new_revision():
    assert texts(STRATEGY.validate_update(CONTEXT, edited(REVISION, {"revision": 4}), REVISION)) == []


def test_validate_update_rejects_data_change():
    new = edited(REVISION, {"data": {"b": 2}})
    assert texts(STRATEGY.validate_update(CONTEXT, new, REVISION)) == [
        'data: Invalid value: {"b":2}: field is immutable'
    ]


@pytest.mark.parametrize(
    ("owners", "shown"),
    [
        ([], "<none>"),
        ([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "log", "controller": True}], "daemonset.apps/log"),
        ([{"apiVersion": "v1", "kind": "Node", "name": "n", "controller": True}], "node/n"),
        ([{"apiVersion": "v1", "kind": "Node", "name": "n"}], "<none>"),
    ],
)
def test_cells_show_controller(owners, shown):
    row = STRATEGY.cells(edited(REVISION, {"metadata.ownerReferences": owners}), NOW)
    assert row == ["a", shown, 3, "60s"]
