"""Validation of PersistentVolumeClaims."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import copy, error_texts, tree

from steersman.apiserver.kinds.core.persistentvolumeclaim.validation import (
    validate_claim,
    validate_claim_status,
    validate_claim_update,
)

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"}
BETA = "volume.beta.kubernetes.io/storage-class"


def claim(status: dict | None = None, annotations: dict | None = None, **spec: object) -> dict:
    return tree({"annotations": annotations or {}}, spec=copy({**CLAIM, **spec}), status=status or {"phase": "Pending"})


def requests(size: str) -> dict:
    return {"resources": {"requests": {"storage": size}}}


BOUND = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
IMMUTABLE = (
    "spec: Forbidden: "
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
)


def test_validate_claim_accepts_valid_claim():
    assert error_texts(validate_claim(claim())) == []


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (claim(volumeName="v"), claim()),
        (claim(BOUND, **requests("2Gi")), claim(BOUND)),
        (claim(storageClassName="fast"), claim()),
        (claim(BOUND, volumeAttributesClassName="g"), claim(BOUND)),
        (claim(storageClassName="fast"), claim(annotations={BETA: "fast"})),
    ],
    ids=["a volume", "growth", "the default class", "a class of attributes", "the class of the annotation"],
)
def test_validate_claim_update_accepts_mutable_fields(new: dict, old: dict):
    assert error_texts(validate_claim_update(new, old)) == []


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (claim(accessModes=["ReadOnlyMany"]), claim()),
        (claim(**requests("2Gi")), claim()),
        (claim(volumeName="w"), claim(volumeName="v")),
        (claim(storageClassName="slow"), claim(storageClassName="fast")),
        (claim(volumeAttributesClassName="g"), claim()),
    ],
)
def test_validate_claim_update_rejects_immutable_fields(new: dict, old: dict):
    (fault,) = error_texts(validate_claim_update(new, old))
    assert fault.startswith(IMMUTABLE)


def test_validate_claim_update_reports_volume_mode_separately():
    first, second = error_texts(validate_claim_update(claim(volumeMode="Block"), claim()))
    assert first.startswith(IMMUTABLE)
    assert second == 'volumeMode: Invalid value: "Block": field is immutable'


def test_validate_claim_update_rejects_size_below_capacity():
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    assert error_texts(validate_claim_update(claim(status, **requests("2Gi")), claim(status, **requests("3Gi")))) == []
    assert error_texts(validate_claim_update(claim(status, **requests("1Gi")), claim(status, **requests("3Gi")))) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


def test_validate_claim_update_rejects_change_of_class_annotation():
    faults = error_texts(validate_claim_update(claim(annotations={BETA: "b"}), claim(annotations={BETA: "a"})))
    assert faults == [f'metadata.annotations.{BETA}: Invalid value: "b": field is immutable']


@pytest.mark.parametrize(("name", "text"), [(None, "nil"), ("", "empty string")])
def test_validate_claim_update_rejects_removal_of_applied_attributes_class(name: str | None, text: str):
    applied = {**BOUND, "currentVolumeAttributesClassName": "g"}
    faults = error_texts(
        validate_claim_update(
            claim(applied, volumeAttributesClassName=name), claim(applied, volumeAttributesClassName="g")
        )
    )
    detail = f"update to {text} is forbidden when status.currentVolumeAttributesClassName is not nil"
    assert faults == [f"spec.volumeAttributesClassName: Forbidden: {detail}"]
    faults = validate_claim_update(
        claim(BOUND, volumeAttributesClassName=name), claim(BOUND, volumeAttributesClassName="g")
    )
    assert faults == []


def test_validate_claim_status_rejects_negative_sizes():
    assert error_texts(validate_claim_status(claim({"capacity": {"storage": "-1"}}))) == [
        "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"
    ]
    assert error_texts(validate_claim_status(claim(BOUND))) == []


# -- status --------------------------------------------------------------------------------------------------------


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
                    'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: '
                    '"ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", '
                    '"NodeResizeInfeasible", "NodeResizePending"'
                )
            ],
        ),
    ],
)
def test_validate_claim_status_requires_known_resources(status: dict, faults: list[str]):
    assert error_texts(validate_claim_status({"status": status})) == faults
