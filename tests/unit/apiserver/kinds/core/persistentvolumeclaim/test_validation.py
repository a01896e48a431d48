"""Validation of PersistentVolumeClaims."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import copy, told, tree

from steersman.apiserver.kinds.core.persistentvolumeclaim.validation import (
    validate_claim,
    validate_claim_status,
    validate_claim_update,
)

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
BETA = "volume.beta.kubernetes.io/storage-class"


def claim(status: dict | None = None, annotations: dict | None = None, **spec: object) -> dict:
    return tree({"annotations": annotations or {}}, spec=copy({**CLAIM, **spec}), status=status or {"phase": "Pending"})


def asks(size: str) -> dict:
    return {"resources": {"requests": {"storage": size}}}


BOUND = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
IMMUTABLE = (
    "spec: Forbidden: "
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
)


def test_a_usual_claim_is_let_through():
    assert told(validate_claim(claim())) == []


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (claim(volumeName="v"), claim()),
        (claim(BOUND, **asks("2Gi")), claim(BOUND)),
        (claim(storageClassName="fast"), claim()),
        (claim(BOUND, volumeAttributesClassName="g"), claim(BOUND)),
        (claim(storageClassName="fast"), claim(annotations={BETA: "fast"})),
    ],
    ids=["a volume", "growth", "the default class", "a class of attributes", "the class of the annotation"],
)
def test_what_may_change_of_a_claim(new: dict, old: dict):
    assert told(validate_claim_update(new, old)) == []


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (claim(accessModes=["ReadOnlyMany"]), claim()),
        (claim(**asks("2Gi")), claim()),
        (claim(volumeName="w"), claim(volumeName="v")),
        (claim(storageClassName="slow"), claim(storageClassName="fast")),
        (claim(volumeAttributesClassName="g"), claim()),
    ],
)
def test_what_stays(new: dict, old: dict):
    (fault,) = told(validate_claim_update(new, old))
    assert fault.startswith(IMMUTABLE)


def test_the_mode_stays_and_is_told_by_itself_too():
    first, second = told(validate_claim_update(claim(volumeMode="Block"), claim()))
    assert first.startswith(IMMUTABLE)
    assert second == 'volumeMode: Invalid value: "Block": field is immutable'


def test_a_claim_shrinks_no_further_than_its_volume():
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    assert told(validate_claim_update(claim(status, **asks("2Gi")), claim(status, **asks("3Gi")))) == []
    assert told(validate_claim_update(claim(status, **asks("1Gi")), claim(status, **asks("3Gi")))) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


def test_the_annotation_of_the_class_stays():
    faults = told(validate_claim_update(claim(annotations={BETA: "b"}), claim(annotations={BETA: "a"})))
    assert faults == [f'metadata.annotations.{BETA}: Invalid value: "b": field is immutable']


@pytest.mark.parametrize(("name", "text"), [(None, "nil"), ("", "an empty string")])
def test_a_class_of_attributes_is_not_taken_back(name: str | None, text: str):
    faults = told(
        validate_claim_update(claim(BOUND, volumeAttributesClassName=name), claim(BOUND, volumeAttributesClassName="g"))
    )
    assert f"spec.volumeAttributesClassName: Forbidden: update from non-nil value to {text} is forbidden" in faults


def test_sizes_of_the_status_are_not_negative():
    assert told(validate_claim_status(claim({"capacity": {"storage": "-1"}}))) == [
        "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"
    ]
    assert told(validate_claim_status(claim(BOUND))) == []


# -- statuses of claims -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        ({"capacity": {"storage": "1Gi"}}, []),
        (
            {"capacity": {"storage": "-1"}},
            ["status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"],
        ),
        (
            {
                "allocatedResources": {"storage": "1Gi", "example.com/x": "1"},
                "allocatedResourceStatuses": {"storage": "NodeResizePending"},
            },
            [],
        ),
        (
            {"allocatedResources": {"cpu": "1", "storage": "-1"}},
            [
                'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
                "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity",
            ],
        ),
        (
            {"allocatedResourceStatuses": {"storage": "Growing"}},
            [
                (
                    'status.allocatedResourceStatus: Unsupported value: "storage": supported values: '
                    '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", '
                    '"NodeResizeInfeasible", "NodeResizePending"'
                )
            ],
        ),
    ],
)
def test_sizes_of_a_claim_are_amounts_of_known_resources(status: dict, faults: list[str]):
    assert told(validate_claim_status({"status": status})) == faults
