from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, SELECTOR, defaulted, edited, named, pod_template, texts

from steersman.apiserver.kinds.apps.daemonset.strategy import DaemonSetStrategy
from steersman.apiserver.kinds.apps.daemonset.validation import (
    validate_daemon_set,
    validate_daemon_set_status,
    validate_daemon_set_update,
)

VALID = defaulted(DaemonSetStrategy(), named(spec={"selector": SELECTOR, "template": pod_template()}))
ROLLING = "spec.updateStrategy.rollingUpdate"


def test_validate_daemon_set_accepts_defaulted_object():
    assert texts(validate_daemon_set(VALID)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.selector": {}}, "spec.selector: Invalid value: {}: empty selector is invalid for daemonset"),
        (
            {"spec.template.metadata.labels": {"app": "b"}},
            'spec.template.metadata.labels: Invalid value: {"app":"b"}: `selector` does not match template `labels`',
        ),
        (
            {"spec.template.spec.restartPolicy": "Never"},
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        ),
        (
            {"spec.template.spec.activeDeadlineSeconds": 5},
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported",
        ),
        ({"spec.minReadySeconds": -1}, "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"spec.updateStrategy": {"type": "Other"}},
            'spec.updateStrategy: Unsupported value: {"Type":"Other","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"',
        ),
        ({ROLLING: GONE}, f"{ROLLING}: Required value"),
        (
            {ROLLING: {"maxUnavailable": 0, "maxSurge": 0}},
            f"{ROLLING}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
        ),
        (
            {ROLLING: {"maxUnavailable": 1, "maxSurge": 1}},
            f"{ROLLING}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
        ),
        (
            {ROLLING: {"maxUnavailable": 0, "maxSurge": "101%"}},
            f'{ROLLING}.maxSurge: Invalid value: "101%": must not be greater than 100%',
        ),
        (
            {"spec.revisionHistoryLimit": -1},
            "spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
        ),
    ],
)
def test_validate_daemon_set_rejects_invalid_fields(edits, fault):
    assert texts(validate_daemon_set(edited(VALID, edits))) == [fault]


def test_validate_daemon_set_accepts_on_delete_without_rolling_update():
    assert texts(validate_daemon_set(edited(VALID, {"spec.updateStrategy": {"type": "OnDelete"}}))) == []


def test_validate_daemon_set_update_rejects_selector_change():
    labels = {"app": "b"}
    new = edited(VALID, {"spec.selector.matchLabels": labels, "spec.template.metadata.labels": labels})
    assert texts(validate_daemon_set_update(new, VALID)) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable'
    ]


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        ({"numberReady": -1}, "status.numberReady: Invalid value: -1: must be greater than or equal to 0"),
        ({"numberUnavailable": -1}, "status.numberUnavailable: Invalid value: -1: must be greater than or equal to 0"),
        ({"collisionCount": 1}, "status.collisionCount: Invalid value: 1: cannot be decremented"),
    ],
)
def test_validate_daemon_set_status_rejects_invalid_counts(status, fault):
    old = {**VALID, "status": {"collisionCount": 2}}
    new = {**VALID, "status": {"collisionCount": 2, **status}}
    assert texts(validate_daemon_set_status(new, old)) == [fault]
