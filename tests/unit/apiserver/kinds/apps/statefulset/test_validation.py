from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, SELECTOR, defaulted, edited, named, pod_template, texts

from steersman.apiserver.kinds.apps.statefulset.strategy import StatefulSetStrategy
from steersman.apiserver.kinds.apps.statefulset.validation import (
    validate_stateful_set,
    validate_stateful_set_status,
    validate_stateful_set_update,
)

CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
SPEC = {"selector": SELECTOR, "serviceName": "s", "template": pod_template(), "volumeClaimTemplates": [CLAIM]}
VALID = defaulted(StatefulSetStrategy(), named(spec=SPEC))
RETENTION = "spec.persistentVolumeClaimRetentionPolicy"
ROLLING = "spec.updateStrategy.rollingUpdate"
IMMUTABLE = (
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def test_validate_stateful_set_accepts_defaulted_object():
    assert texts(validate_stateful_set(VALID)) == []


def test_validate_stateful_set_accepts_mounts_of_claim_templates():
    mounts = [{"name": "data", "mountPath": "/data"}]
    assert texts(validate_stateful_set(edited(VALID, {"spec.template.spec.containers.0.volumeMounts": mounts}))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {"spec.podManagementPolicy": "Random"},
            "spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'",
        ),
        ({"spec.podManagementPolicy": ""}, "spec.podManagementPolicy: Required value"),
        ({"spec.updateStrategy": {}}, "spec.updateStrategy: Required value"),
        (
            {"spec.updateStrategy.type": "OnDelete"},
            f'{ROLLING}: Invalid value: {{"Partition":0,"MaxUnavailable":null}}: only allowed for updateStrategy \'RollingUpdate\'',
        ),
        (
            {"spec.updateStrategy": {"type": "Other"}},
            'spec.updateStrategy: Invalid value: {"Type":"Other","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
        ),
        ({f"{ROLLING}.partition": -1}, f"{ROLLING}.partition: Invalid value: -1: must be greater than or equal to 0"),
        ({f"{ROLLING}.maxUnavailable": 0}, f"{ROLLING}.maxUnavailable: Invalid value: 0: cannot be 0"),
        (
            {f"{RETENTION}.whenScaled": "Other"},
            f'{RETENTION}.whenScaled: Unsupported value: "Other": supported values: "Retain", "Delete"',
        ),
        ({"spec.replicas": -1}, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"spec.ordinals": {"start": -1}},
            "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
        ),
        ({"spec.selector": {}}, "spec.selector: Invalid value: {}: empty selector is invalid for statefulset"),
        (
            {"spec.template.spec.restartPolicy": "Never"},
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        ),
        (
            {"spec.volumeClaimTemplates.0.spec.accessModes": GONE},
            "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
        ),
    ],
)
def test_validate_stateful_set_rejects_invalid_fields(edits, fault):
    assert texts(validate_stateful_set(edited(VALID, edits))) == [fault]


def test_validate_stateful_set_reports_errors_in_upstream_order():
    edits = {
        "spec.serviceName": "A_B",
        "spec.replicas": -1,
        "spec.volumeClaimTemplates.0.spec.accessModes": GONE,
        "spec.selector": {},
    }
    faults = texts(validate_stateful_set(edited(VALID, edits)))
    places = ("spec.volumeClaimTemplates[0].spec.accessModes", "spec.replicas", "spec.serviceName", "spec.selector")
    assert tuple(fault.partition(":")[0] for fault in faults) == places


def test_validate_stateful_set_update_validates_template_labels_twice():
    first, second = texts(validate_stateful_set(edited(VALID, {"spec.template.metadata.labels.b": "no label"})))
    assert first == second
    assert first.startswith('spec.template.labels: Invalid value: "no label": a valid label')


def test_validate_stateful_set_update_validates_labels_once_when_template_was_invalid():
    broken = edited(VALID, {"spec.template.spec.containers.0.name": "No Name"})
    new = edited(broken, {"spec.template.metadata.labels.b": "no label"})
    [fault] = texts(validate_stateful_set_update(new, broken))
    assert fault.startswith("spec.template.labels: ")


@pytest.mark.parametrize("name", ["hostname", "subdomain"])
def test_validate_stateful_set_ignores_hostname_and_subdomain_of_template(name):
    assert texts(validate_stateful_set(edited(VALID, {f"spec.template.spec.{name}": "No_Name"}))) == []


def test_validate_stateful_set_orders_claim_volumes_before_template_volumes():
    volumes = [{"name": "other", "emptyDir": {}}, {"name": "data", "emptyDir": {}}, {"name": "No Name", "emptyDir": {}}]
    [fault] = texts(validate_stateful_set(edited(VALID, {"spec.template.spec.volumes": volumes})))
    assert fault.startswith("spec.template.spec.volumes[2].name: ")


def test_validate_stateful_set_requires_dns_label_as_service_name():
    [fault] = texts(validate_stateful_set(edited(VALID, {"spec.serviceName": "A_B"})))
    assert fault.startswith('spec.serviceName: Invalid value: "A_B": a lowercase RFC 1123 label must consist of')


@pytest.mark.parametrize(
    "edits",
    [
        {"spec.replicas": 3},
        {"spec.ordinals": {"start": 1}},
        {"spec.template.spec.containers.0.image": "j"},
        {"spec.updateStrategy": {"type": "OnDelete"}},
        {f"{RETENTION}.whenDeleted": "Delete"},
        {"spec.minReadySeconds": 1},
        {"spec.revisionHistoryLimit": 1},
    ],
)
def test_validate_stateful_set_update_accepts_mutable_fields(edits):
    assert texts(validate_stateful_set_update(edited(VALID, edits), VALID)) == []


@pytest.mark.parametrize(
    "edits", [{"spec.serviceName": "t"}, {"spec.podManagementPolicy": "Parallel"}, {"spec.volumeClaimTemplates": []}]
)
def test_validate_stateful_set_update_rejects_immutable_fields(edits):
    assert texts(validate_stateful_set_update(edited(VALID, edits), VALID)) == [IMMUTABLE]


def test_validate_stateful_set_update_accepts_unchanged_invalid_template():
    broken = edited(VALID, {"spec.template.spec.containers.0.name": "No Name"})
    assert texts(validate_stateful_set_update(edited(broken, {"spec.replicas": 2}), broken)) == []


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (
            {"replicas": 1, "currentReplicas": 2},
            "status.currentReplicas: Invalid value: 2: cannot be greater than status.replicas",
        ),
        (
            {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2},
            "status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",
        ),
        ({"replicas": -1}, "status.replicas: Invalid value: -1: must be greater than or equal to 0"),
        ({"collisionCount": 1}, "status.collisionCount: Invalid value: 1: cannot be decremented"),
    ],
)
def test_validate_stateful_set_status_rejects_inconsistent_counts(status, fault):
    old = {**VALID, "status": {"collisionCount": 2}}
    new = {**VALID, "status": {"collisionCount": 2, **status}}
    assert texts(validate_stateful_set_status(new, old))[:1] == [fault]
