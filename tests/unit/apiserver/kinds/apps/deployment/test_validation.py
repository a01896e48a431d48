from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, SELECTOR, defaulted, edited, named, pod_template, texts

from steersman.apiserver.kinds.apps.deployment.strategy import DeploymentStrategy
from steersman.apiserver.kinds.apps.deployment.validation import (
    validate_deployment,
    validate_deployment_status,
    validate_deployment_update,
)

VALID = defaulted(DeploymentStrategy(), named(spec={"selector": SELECTOR, "template": pod_template()}))
ROLLING = "spec.strategy.rollingUpdate"
PERCENT = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"


def test_validate_deployment_accepts_defaulted_object():
    assert texts(validate_deployment(VALID)) == []


@pytest.mark.parametrize(
    ("edits", "faults"),
    [
        ({"spec.replicas": -1}, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"spec.selector": GONE},
            [
                "spec.selector: Required value",
                'spec.template.metadata.labels: Invalid value: {"app":"a"}: `selector` does not match template `labels`',
            ],
        ),
        (
            {"spec.selector": {}},
            ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        ),
        (
            {"spec.template.metadata.labels": {"app": "b"}},
            ['spec.template.metadata.labels: Invalid value: {"app":"b"}: `selector` does not match template `labels`'],
        ),
        (
            {"spec.template.spec.restartPolicy": "Never"},
            ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
        ),
        (
            {"spec.template.spec.activeDeadlineSeconds": 5},
            [
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported"
            ],
        ),
        (
            {"spec.strategy.type": "Recreate"},
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        ),
        (
            {ROLLING: GONE},
            ["spec.strategy.rollingUpdate: Required value: this should be defaulted and never be nil"],
        ),
        (
            {"spec.strategy": {"type": "Other"}},
            [
                'spec.strategy: Unsupported value: {"Type":"Other","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"'
            ],
        ),
        (
            {ROLLING: {"maxUnavailable": 0, "maxSurge": "0%"}},
            [f"{ROLLING}.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
        ),
        (
            {ROLLING: {"maxUnavailable": "101%", "maxSurge": "200%"}},
            [f'{ROLLING}.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
        ),
        (
            {ROLLING: {"maxUnavailable": -1, "maxSurge": 1}},
            [f"{ROLLING}.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {ROLLING: {"maxUnavailable": 1, "maxSurge": "two"}},
            [f'{ROLLING}.maxSurge: Invalid value: "two": {PERCENT}'],
        ),
        (
            {"spec.minReadySeconds": 600},
            ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
        ),
        (
            {"spec.revisionHistoryLimit": -1},
            ["spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
        ),
        ({"spec.template.spec.containers": []}, ["spec.template.spec.containers: Required value"]),
    ],
)
def test_validate_deployment_rejects_invalid_fields(edits, faults):
    assert texts(validate_deployment(edited(VALID, edits))) == faults


def test_validate_deployment_update_rejects_selector_change():
    labels = {"app": "b"}
    new = edited(VALID, {"spec.selector.matchLabels": labels, "spec.template.metadata.labels": labels})
    assert texts(validate_deployment_update(new, VALID)) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable'
    ]


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        ({"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, []),
        (
            {"unavailableReplicas": -1},
            ["status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"replicas": 1, "updatedReplicas": 2},
            ["status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas"],
        ),
        (
            {"replicas": 3, "readyReplicas": 1, "availableReplicas": 2},
            ["status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas"],
        ),
        ({"collisionCount": 1}, ["status.collisionCount: Invalid value: 1: cannot be decremented"]),
        (
            {"terminatingReplicas": -1},
            ["status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_validate_deployment_status_rejects_inconsistent_counts(status, faults):
    old = {**VALID, "status": {"collisionCount": 2}}
    new = {**VALID, "status": {"collisionCount": 2, **status}}
    assert texts(validate_deployment_status(new, old)) == faults
