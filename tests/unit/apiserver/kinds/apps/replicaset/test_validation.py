from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, SELECTOR, defaulted, edited, named, pod_template, texts

from steersman.apiserver.kinds.apps.replicaset.strategy import ReplicaSetStrategy
from steersman.apiserver.kinds.apps.replicaset.validation import (
    validate_replica_set,
    validate_replica_set_status,
    validate_replica_set_update,
)

VALID = defaulted(ReplicaSetStrategy(), named(spec={"selector": SELECTOR, "template": pod_template()}))


def test_validate_replica_set_accepts_defaulted_object():
    assert texts(validate_replica_set(VALID)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.replicas": -1}, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        ({"spec.minReadySeconds": -1}, "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"),
        ({"spec.selector": {}}, "spec.selector: Invalid value: {}: empty selector is invalid for deployment"),
        (
            {"spec.template.metadata.labels": GONE},
            "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
        ),
        (
            {"spec.template.spec.restartPolicy": "OnFailure"},
            'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
        ),
        ({"spec.template.spec.containers": []}, "spec.template.spec.containers: Required value"),
    ],
)
def test_validate_replica_set_rejects_invalid_fields(edits, fault):
    assert texts(validate_replica_set(edited(VALID, edits))) == [fault]


def test_validate_replica_set_skips_template_when_selector_is_invalid():
    bad = edited(VALID, {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}})
    assert texts(validate_replica_set(bad)) == [
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"In"}]}: invalid label selector',
    ]


def test_validate_replica_set_update_rejects_selector_change():
    labels = {"app": "b"}
    new = edited(VALID, {"spec.selector.matchLabels": labels, "spec.template.metadata.labels": labels})
    assert texts(validate_replica_set_update(new, VALID)) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable'
    ]


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        ({"replicas": 2, "fullyLabeledReplicas": 2, "readyReplicas": 2, "availableReplicas": 1}, []),
        (
            {"replicas": 1, "fullyLabeledReplicas": 2},
            ["status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas"],
        ),
        (
            {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2},
            ["status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas"],
        ),
        (
            {"replicas": 0, "observedGeneration": -1},
            ["status.observedGeneration: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_validate_replica_set_status_rejects_inconsistent_counts(status, faults):
    assert texts(validate_replica_set_status({**VALID, "status": status})) == faults
