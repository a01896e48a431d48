from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import defaulted, named

from steersman.apiserver.kinds.admissionregistration.mutatingwebhookconfiguration import (
    MutatingWebhookConfigurationStrategy,
)


@pytest.mark.parametrize(("said", "policy"), [({}, "Never"), ({"reinvocationPolicy": "IfNeeded"}, "IfNeeded")])
def test_a_webhook_is_asked_once_unless_it_says_otherwise(said, policy):
    [hook] = defaulted(MutatingWebhookConfigurationStrategy(), named(webhooks=[{"name": "a", **said}]))["webhooks"]
    assert hook["reinvocationPolicy"] == policy


def test_it_gets_what_every_webhook_gets():
    [hook] = defaulted(MutatingWebhookConfigurationStrategy(), named(webhooks=[{"name": "a"}]))["webhooks"]
    assert (hook["failurePolicy"], hook["timeoutSeconds"]) == ("Fail", 10)
