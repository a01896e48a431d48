from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import defaulted, edited, named, texts

from steersman.apiserver.kinds.admissionregistration.mutatingwebhookconfiguration import (
    MutatingWebhookConfigurationStrategy,
)
from steersman.apiserver.kinds.admissionregistration.shared.webhook_validation import validate_webhooks

HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://example.com/hook"},
    "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
VALID = defaulted(MutatingWebhookConfigurationStrategy(), named(webhooks=[HOOK]))
AT, PATH = "webhooks.0", "webhooks[0]"
VERSIONS = f"{PATH}.admissionReviewVersions"
THREE = "should be a domain with at least three segments separated by dots"
DURATION = "the timeout value must be between 1 and 30 seconds"


def test_validate_webhooks_accepts_valid_webhooks():
    assert texts(validate_webhooks(VALID)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({f"{AT}.name": ""}, f"{PATH}.name: Required value"),
        ({f"{AT}.name": "example.com"}, f'{PATH}.name: Invalid value: "example.com": {THREE}'),
        ({f"{AT}.rules.0.operations": []}, f"{PATH}.rules[0].operations: Required value"),
        (
            {f"{AT}.failurePolicy": "Retry"},
            f'{PATH}.failurePolicy: Unsupported value: "Retry": supported values: "Fail", "Ignore"',
        ),
        (
            {f"{AT}.matchPolicy": "Loose"},
            f'{PATH}.matchPolicy: Unsupported value: "Loose": supported values: "Equivalent", "Exact"',
        ),
        (
            {f"{AT}.sideEffects": None},
            f"{PATH}.sideEffects: Required value: must specify one of None, NoneOnDryRun",
        ),
        (
            {f"{AT}.sideEffects": "Some"},
            f'{PATH}.sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        ),
        ({f"{AT}.timeoutSeconds": 0}, f"{PATH}.timeoutSeconds: Invalid value: 0: {DURATION}"),
        ({f"{AT}.timeoutSeconds": 31}, f"{PATH}.timeoutSeconds: Invalid value: 31: {DURATION}"),
        (
            {f"{AT}.clientConfig": {}},
            f"{PATH}.clientConfig: Required value: exactly one of url or service is required",
        ),
        (
            {f"{AT}.reinvocationPolicy": "Often"},
            f'{PATH}.reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never"',
        ),
        ({f"{AT}.admissionReviewVersions": []}, f"{VERSIONS}: Required value: must specify one of v1, v1beta1"),
        (
            {f"{AT}.admissionReviewVersions": ["v1", "v1"]},
            f'{VERSIONS}[1]: Invalid value: "v1": duplicate version',
        ),
        (
            {f"{AT}.admissionReviewVersions": ["v2"]},
            f'{VERSIONS}: Invalid value: ["v2"]: must include at least one of v1, v1beta1',
        ),
        ({"webhooks": [VALID["webhooks"][0]] * 2}, 'webhooks[1].name: Duplicate value: "a.example.com"'),
    ],
)
def test_validate_webhooks_rejects_invalid_fields(edits, fault):
    assert texts(validate_webhooks(edited(VALID, edits))) == [fault]


@pytest.mark.parametrize(
    "edits",
    [
        {f"{AT}.sideEffects": "Unknown"},
        {f"{AT}.admissionReviewVersions": ["v2"]},
        {"webhooks": [VALID["webhooks"][0]] * 2},
        {f"{AT}.objectSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not valid"]}]}},
    ],
)
def test_validate_webhooks_accepts_legacy_values_of_old_configuration(edits):
    old = edited(VALID, edits)
    assert len(texts(validate_webhooks(old))) == 1
    assert texts(validate_webhooks(old, old)) == []


def test_validate_webhooks_reports_reinvocation_policy_before_client():
    hook = {"webhooks.0.reinvocationPolicy": "Odd", "webhooks.0.clientConfig": {}}
    faults = texts(validate_webhooks(edited(VALID, hook)))
    assert [fault.partition(":")[0] for fault in faults] == [f"{PATH}.reinvocationPolicy", f"{PATH}.clientConfig"]
