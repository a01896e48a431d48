from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named, texts

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.kinds.scheduling.priorityclass import PriorityClassStrategy

STRATEGY = PriorityClassStrategy()
CLASS = defaulted(STRATEGY, named(value=1000))
RESERVED = (
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
)


def test_default_sets_preemption_policy():
    assert CLASS["preemptionPolicy"] == "PreemptLowerPriority"
    assert defaulted(STRATEGY, {"preemptionPolicy": "Never"}) == {"preemptionPolicy": "Never"}


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"value": 1_000_000_000},
        {"value": -5},
        {"preemptionPolicy": "Never"},
        {"metadata.name": "system-node-critical", "value": 2_000_001_000},
    ],
)
def test_validate_accepts_valid_classes(edits):
    assert texts(STRATEGY.validate(CONTEXT, edited(CLASS, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {"value": 1_000_000_001},
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        ({"metadata.name": "system-mine"}, f"{RESERVED}system-mine is not a known system priority class"),
        (
            {"metadata.name": "system-node-critical"},
            f"{RESERVED}value of system-node-critical PriorityClass must be 2000001000",
        ),
        (
            {"metadata.name": "system-cluster-critical", "value": 2_000_000_000, "globalDefault": True},
            f"{RESERVED}globalDefault of system-cluster-critical PriorityClass must be false",
        ),
        (
            {"preemptionPolicy": "Always"},
            'preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"',
        ),
    ],
)
def test_validate_rejects_invalid_fields(edits, fault):
    assert texts(STRATEGY.validate(CONTEXT, edited(CLASS, edits))) == [fault]


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({"description": "d", "globalDefault": True}, []),
        ({"value": 5}, ["value: Forbidden: may not be changed in an update."]),
        ({"preemptionPolicy": "Never"}, ['preemptionPolicy: Invalid value: "Never": field is immutable']),
    ],
)
def test_validate_update_rejects_change_of_immutable_fields(edits, faults):
    assert texts(STRATEGY.validate_update(CONTEXT, edited(CLASS, edits), CLASS)) == faults


def test_generation_stays_1():
    assert STRATEGY.has_generation is True
    assert STRATEGY.generation_view(edited(CLASS, {"description": "d"})) == STRATEGY.generation_view(CLASS)


def test_cells_show_value_and_policy():
    assert STRATEGY.cells(CLASS, NOW) == ["a", 1000, False, "60s", "PreemptLowerPriority"]


def test_delete_of_system_classes_is_rejected():
    STRATEGY.check_graceful_delete(CONTEXT, CLASS)
    with pytest.raises(StatusError, match="this is a system priority class and cannot be deleted") as refused:
        STRATEGY.check_graceful_delete(CONTEXT, named("system-node-critical", value=2_000_001_000))
    assert refused.value.code == 403
