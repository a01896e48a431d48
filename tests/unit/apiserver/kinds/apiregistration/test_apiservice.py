from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named, texts

from steersman.apiserver.kinds.apiregistration.apiservice import APIServiceStrategy

STRATEGY = APIServiceStrategy()
SPEC = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15}
LOCAL = named("v1.example.com", spec=SPEC)
REMOTE = defaulted(
    STRATEGY,
    edited(LOCAL, {"spec.service": {"namespace": "n", "name": "s"}, "spec.caBundle": "aGVsbG8="}),
)


def test_default_sets_service_port_443():
    assert REMOTE["spec"]["service"]["port"] == 443


def test_prepare_for_create_marks_local_service_available():
    new = edited(LOCAL, {"status.conditions": [{"type": "Other"}]})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["status"] == {
        "conditions": [
            {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": "2026-01-01T00:01:00Z",
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
        ]
    }


def test_prepare_for_create_sets_no_condition_of_remote_service():
    new = edited(REMOTE, {"status.conditions": [{"type": "Available", "status": "True"}]})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert not new["status"].get("conditions")


def test_prepare_for_status_update_keeps_spec_and_metadata():
    new = edited(LOCAL, {"metadata.labels": {"a": "b"}, "spec.versionPriority": 5, "status.conditions": []})
    STRATEGY.prepare_for_status_update(CONTEXT, new, LOCAL)
    assert new == {**LOCAL, "status": {"conditions": []}}


@pytest.mark.parametrize("valid", [LOCAL, REMOTE, edited(LOCAL, {"metadata.name": "v1.", "spec.group": ""})])
def test_validate_accepts_valid_services(valid):
    assert texts(STRATEGY.validate(CONTEXT, valid)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {"metadata.name": "v2.example.com"},
            'metadata.name: Invalid value: "v2.example.com": must be `spec.version+"."+spec.group`: "v1.example.com"',
        ),
        (
            {"metadata.name": "v2.", "spec.group": "", "spec.version": "v2"},
            "spec.group: Required value: only v1 may have an empty group and it better be legacy kube",
        ),
        (
            {"spec.groupPriorityMinimum": 0},
            "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
        ),
        (
            {"spec.groupPriorityMinimum": 20001},
            "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
        ),
        (
            {"spec.versionPriority": 1001},
            "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
        ),
        ({"spec.service.name": ""}, "spec.service.name: Required value"),
        (
            {"spec.service.port": 0},
            "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
        ),
        (
            {"spec.insecureSkipTLSVerify": True},
            "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
        ),
        (
            {"spec.service": None},
            'spec.caBundle: Invalid value: "5 bytes": local APIServices may not have a caBundle',
        ),
        (
            {"spec.service": None, "spec.caBundle": None, "spec.insecureSkipTLSVerify": True},
            "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
        ),
    ],
)
def test_validate_and_validate_update_reject_invalid_fields(edits, fault):
    new = edited(REMOTE, edits)
    assert texts(STRATEGY.validate(CONTEXT, new)) == [fault]
    assert texts(STRATEGY.validate_update(CONTEXT, new, REMOTE)) == [fault]


def test_validate_status_update_requires_known_condition_status():
    new = edited(LOCAL, {"status.conditions": [{"type": "Available", "status": "Maybe"}]})
    assert texts(STRATEGY.validate_status_update(CONTEXT, new, LOCAL)) == [
        'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'
    ]


@pytest.mark.parametrize(
    ("obj", "conditions", "cells"),
    [
        (LOCAL, [{"type": "Available", "status": "True"}], ["Local", "True"]),
        (REMOTE, [{"type": "Available", "status": "False", "reason": "Lost"}], ["n/s", "False (Lost)"]),
        (REMOTE, [], ["n/s", "Unknown"]),
    ],
)
def test_cells_show_service_and_availability(obj, conditions, cells):
    row = STRATEGY.cells(edited(obj, {"status.conditions": conditions}), NOW)
    assert row == ["v1.example.com", *cells, "60s"]
