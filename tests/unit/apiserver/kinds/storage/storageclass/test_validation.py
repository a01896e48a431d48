from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import defaulted, edited, named, texts

from steersman.apiserver.kinds.storage.storageclass.strategy import StorageClassStrategy
from steersman.apiserver.kinds.storage.storageclass.validation import (
    storage_class_warnings,
    validate_storage_class,
    validate_storage_class_update,
)

ZONES = {"key": "topology.kubernetes.io/zone", "values": ["a", "b"]}
VALID = defaulted(
    StorageClassStrategy(),
    named(provisioner="example.com/disk", allowedTopologies=[{"matchLabelExpressions": [ZONES]}]),
)
PATH = "allowedTopologies[0].matchLabelExpressions"
AT = "allowedTopologies.0.matchLabelExpressions"


def test_validate_storage_class_accepts_valid_classes():
    assert texts(validate_storage_class(VALID)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"provisioner": ""}, "provisioner: Required value"),
        (
            {"reclaimPolicy": "Recycle"},
            'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
        ),
        ({"volumeBindingMode": None}, "volumeBindingMode: Required value"),
        (
            {"volumeBindingMode": "Later"},
            'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
        ),
        ({f"{AT}.0.values": []}, f"{PATH}[0].values: Required value"),
        ({f"{AT}.0.values": ["a", "a"]}, f'{PATH}[0].values[1]: Duplicate value: "a"'),
        ({AT: [ZONES, ZONES]}, f'{PATH}[1].key: Duplicate value: "{ZONES["key"]}"'),
        ({AT: []}, f'{PATH}: Duplicate value: ""'),
        (
            {"allowedTopologies": [{"matchLabelExpressions": [ZONES]}] * 2},
            'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
        ),
    ],
)
def test_validate_storage_class_rejects_invalid_fields(edits, fault):
    assert texts(validate_storage_class(edited(VALID, edits))) == [fault]


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"parameters": {"a": "b"}}, 'parameters: Invalid value: {"a":"b"}: field is immutable'),
        ({"provisioner": "b.com/c"}, 'provisioner: Invalid value: "b.com/c": field is immutable'),
        ({"reclaimPolicy": "Retain"}, 'reclaimPolicy: Invalid value: "Retain": field is immutable'),
        (
            {"volumeBindingMode": "WaitForFirstConsumer"},
            'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
        ),
    ],
)
def test_validate_storage_class_update_rejects_immutable_fields(edits, fault):
    assert texts(validate_storage_class_update(edited(VALID, edits), VALID)) == [fault]


@pytest.mark.parametrize(
    ("terms", "positions"),
    [
        ([{}], [0]),
        ([{}, {"matchLabelExpressions": [ZONES]}], [0, 0]),
        ([{"matchLabelExpressions": [ZONES]}] * 3, [1, 2, 2]),
    ],
)
def test_validate_storage_class_reports_each_equal_topology(terms, positions):
    storage_class = defaulted(StorageClassStrategy(), named(provisioner="example.com/disk", allowedTopologies=terms))
    assert texts(validate_storage_class(storage_class)) == [
        f'allowedTopologies[{position}].matchLabelExpressions: Duplicate value: ""' for position in positions
    ]


@pytest.mark.parametrize(
    "edits", [{"allowVolumeExpansion": True}, {"mountOptions": ["ro"]}, {"allowedTopologies": None}]
)
def test_validate_storage_class_update_accepts_mutable_fields(edits):
    assert texts(validate_storage_class_update(edited(VALID, edits), VALID)) == []


def test_storage_class_warnings_about_deprecated_labels():
    old = edited(VALID, {f"{AT}.0.key": "failure-domain.beta.kubernetes.io/zone"})
    assert list(storage_class_warnings(old)) == [
        f'{PATH}[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ]
