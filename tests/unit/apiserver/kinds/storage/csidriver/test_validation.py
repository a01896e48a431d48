from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import defaulted, edited, named, texts

from steersman.apiserver.kinds.storage.csidriver.strategy import CSIDriverStrategy
from steersman.apiserver.kinds.storage.csidriver.validation import validate_csi_driver, validate_csi_driver_update

VALID = defaulted(CSIDriverStrategy(), named("driver.example.com", spec={}))
GROUPS = '"File", "None", "ReadWriteOnceWithFSType"'
MINUTES = "may not specify a duration less than 10 minutes"


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"metadata.name": "d" * 64},
        {"spec.tokenRequests": [{"audience": "a"}, {"audience": "", "expirationSeconds": 600}]},
    ],
)
def test_validate_csi_driver_accepts_valid_drivers(edits):
    assert texts(validate_csi_driver(edited(VALID, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.attachRequired": None}, "spec.attachedRequired: Required value"),
        ({"spec.seLinuxMount": None}, "spec.seLinuxMount: Required value"),
        (
            {"spec.fsGroupPolicy": "Other"},
            f'spec.fsGroupPolicy: Unsupported value: "Other": supported values: {GROUPS}',
        ),
        (
            {"spec.volumeLifecycleModes": ["Eternal"]},
            'spec.volumeLifecycleModes: Unsupported value: "Eternal": supported values: "Persistent", "Ephemeral"',
        ),
        (
            {"spec.tokenRequests": [{"audience": "a"}, {"audience": "a"}]},
            'spec.tokenRequests[1].audience: Duplicate value: "a"',
        ),
        (
            {"spec.tokenRequests": [{"expirationSeconds": 599}]},
            f"spec.tokenRequests[0].expirationSeconds: Invalid value: 599: {MINUTES}",
        ),
        (
            {"spec.tokenRequests": [{"expirationSeconds": 2**32 + 1}]},
            (
                "spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297: "
                "may not specify a duration larger than 2^32 seconds"
            ),
        ),
        (
            {"spec.nodeAllocatableUpdatePeriodSeconds": 9},
            "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
        ),
        (
            {"spec.serviceAccountTokenInSecrets": False},
            (
                "spec.serviceAccountTokenInSecrets: Invalid value: false: "
                "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
            ),
        ),
    ],
)
def test_validate_csi_driver_rejects_invalid_fields(edits, fault):
    assert texts(validate_csi_driver(edited(VALID, edits))) == [fault]


@pytest.mark.parametrize(
    "edits",
    [{"spec.podInfoOnMount": True}, {"spec.storageCapacity": True}, {"spec.tokenRequests": [{"audience": "a"}]}],
)
def test_validate_csi_driver_update_accepts_mutable_fields(edits):
    assert texts(validate_csi_driver_update(edited(VALID, edits), VALID)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.attachRequired": False}, "spec.attachedRequired: Invalid value: false: field is immutable"),
        (
            {"spec.volumeLifecycleModes": ["Ephemeral"]},
            'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
        ),
    ],
)
def test_validate_csi_driver_update_rejects_immutable_fields(edits, fault):
    assert texts(validate_csi_driver_update(edited(VALID, edits), VALID)) == [fault]


def test_validate_csi_driver_update_accepts_other_changes():
    after = edited(VALID, {"spec.fsGroupPolicy": "File", "spec.podInfoOnMount": True, "spec.storageCapacity": True})
    assert texts(validate_csi_driver_update(after, VALID)) == []


def test_validate_csi_driver_update_validates_new_object():
    after = edited(VALID, {"spec.fsGroupPolicy": "Other"})
    assert len(texts(validate_csi_driver_update(after, VALID))) == 1
