from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import defaulted, named

from steersman.apiserver.kinds.admissionregistration.mutatingwebhookconfiguration import (
    MutatingWebhookConfigurationStrategy,
)


@pytest.mark.parametrize(("fields", "policy"), [({}, "Never"), ({"reinvocationPolicy": "IfNeeded"}, "IfNeeded")])
def test_default_sets_reinvocation_policy_never(fields, policy):
    [hook] = defaulted(MutatingWebhookConfigurationStrategy(), named(webhooks=[{"name": "a", **fields}]))["webhooks"]
    assert hook["reinvocationPolicy"] == policy


def test_default_sets_common_webhook_fields():
    [hook] = defaulted(MutatingWebhookConfigurationStrategy(), named(webhooks=[{"name": "a"}]))["webhooks"]
    assert (hook["failurePolicy"], hook["timeoutSeconds"]) == ("Fail", 10)
