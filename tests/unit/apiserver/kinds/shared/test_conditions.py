"""Validation of ``metav1.Condition``."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.conditions import has_condition, validate_conditions

GOOD = {
    "type": "Ready",
    "status": "True",
    "reason": "Because",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def faults(*conditions: dict) -> list[str]:
    return error_texts(validate_conditions(conditions, Path("c")))


def test_validate_conditions_accepts_valid_condition():
    assert faults({**GOOD, "observedGeneration": 3}) == []


def test_validate_conditions_rejects_duplicate_types():
    assert faults(GOOD, {**GOOD, "type": "Other"}, GOOD) == ['c[2].type: Duplicate value: "Ready"']


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"status": "Yes"}, 'c[0].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown"'),
        (
            {"observedGeneration": -1},
            "c[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
        ),
        ({"lastTransitionTime": None}, "c[0].lastTransitionTime: Required value: must be set"),
        ({"reason": ""}, "c[0].reason: Required value: must be set"),
        ({"reason": "a" * 1025}, "c[0].reason: Too long: may not be more than 1024 bytes"),
        ({"message": "a" * 32769}, "c[0].message: Too long: may not be more than 32768 bytes"),
    ],
)
def test_validate_conditions_rejects_invalid_fields(part: dict, fault: str):
    assert faults({**GOOD, **part}) == [fault]


@pytest.mark.parametrize("reason", ["A", "a_b", "A,b:C", "A1"])
def test_validate_conditions_accepts_reasons_with_separators(reason: str):
    assert faults({**GOOD, "reason": reason}) == []


@pytest.mark.parametrize("reason", ["1a", "a-b", "a b", "a,", "_a"])
def test_validate_conditions_rejects_sentences_as_reason(reason: str):
    (fault,) = faults({**GOOD, "reason": reason})
    assert fault.startswith(f'c[0].reason: Invalid value: "{reason}": a condition reason must start with alphabetic')


def test_validate_conditions_rejects_empty_type():
    assert all(fault.startswith("c[0].type: Invalid value") for fault in faults({**GOOD, "type": ""}))
    assert faults({**GOOD, "type": ""})


@pytest.mark.parametrize(
    ("status", "has"),
    [
        (None, False),
        ({}, False),
        ({"conditions": None}, False),
        ({"conditions": [{"type": "Ready", "status": "False"}]}, False),
        ({"conditions": [{"type": "Other", "status": "True"}]}, False),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, True),
    ],
)
def test_has_condition_requires_status_true(status: dict | None, has: bool):
    assert has_condition(status, "Ready") is has
