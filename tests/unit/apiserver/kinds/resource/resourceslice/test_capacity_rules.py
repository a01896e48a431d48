from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.resource.resourceslice.capacity_rules import check_capacity

VALUES = {"value": "10", "requestPolicy": {"default": "2", "validValues": ["1", "2", "5"]}}
RANGE = {"value": "10", "requestPolicy": {"default": "2", "validRange": {"min": "2", "max": "8", "step": "2"}}}
POLICY, BOUNDS = "requestPolicy", "requestPolicy.validRange"


def faults(capacity: dict, *, shared: bool = True) -> list[str]:
    return texts(check_capacity(capacity, Path("c"), shared=shared))


@pytest.mark.parametrize("capacity", [{"value": "10"}, VALUES, RANGE])
def test_check_capacity_accepts_valid_policies(capacity):
    assert faults(capacity) == []


def test_check_capacity_rejects_request_policy_of_unshared_device():
    assert faults(VALUES, shared=False) == [f"c.{POLICY}: Forbidden: allowMultipleAllocations must be true"]


def test_check_capacity_compares_no_default_with_too_many_values():
    values = [str(number) for number in range(1, 12)]
    assert faults({"value": "20", POLICY: {"default": "1", "validValues": values}}) == [
        f"c.{POLICY}.validValues: Too many: 11: must have at most 10 items",
        f'c.{POLICY}.validValues: Invalid value: "1": default value is not valid according to the requestPolicy',
    ]


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({f"{POLICY}.default": None}, f"c.{POLICY}.default: Required value: required when validValues is defined"),
        (
            {f"{POLICY}.validValues": ["2", "1"]},
            f'c.{POLICY}.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
        ),
        (
            {f"{POLICY}.validValues": ["2", "11"]},
            f'c.{POLICY}.validValues[1]: Invalid value: "11": option is larger than capacity value: 10',
        ),
        ({f"{POLICY}.validValues": ["2", "2"]}, f'c.{POLICY}.validValues[1]: Duplicate value: "2"'),
        (
            {f"{POLICY}.default": "3"},
            f'c.{POLICY}.validValues: Invalid value: "3": default value is not valid according to the requestPolicy',
        ),
        (
            {f"{POLICY}.validRange": {"min": "1"}},
            (
                f"c.{POLICY}: Forbidden: exactly one policy can be specified, cannot specify "
                '"validValues" and "validRange" at the same time'
            ),
        ),
    ],
)
def test_check_capacity_rejects_invalid_values(edits, fault):
    assert faults(edited(VALUES, edits)) == [fault]


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({f"{BOUNDS}.min": None}, f"c.{BOUNDS}.min: Required value: required when validRange is defined"),
        (
            {f"{POLICY}.default": "1", f"{BOUNDS}.step": None},
            f'c.{BOUNDS}.min: Invalid value: "1": default is less than min: 2',
        ),
        (
            {f"{POLICY}.default": "10", f"{BOUNDS}.step": None},
            f'c.{BOUNDS}.max: Invalid value: "10": default is more than max: 8',
        ),
        (
            {f"{BOUNDS}.max": "12"},
            f'c.{BOUNDS}.max: Invalid value: "12": max is larger than capacity value: 10',
        ),
        (
            {f"{POLICY}.default": "3"},
            f'c.{BOUNDS}.step: Invalid value: "3": value is not a multiple of a given step (2) from (2)',
        ),
    ],
)
def test_check_capacity_rejects_invalid_ranges(edits, fault):
    assert faults(edited(RANGE, edits)) == [fault]
