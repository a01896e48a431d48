from __future__ import annotations

from tests.unit.apiserver.kinds.samples import defaulted, named

from steersman.apiserver.kinds.admissionregistration.validatingwebhookconfiguration import (
    ValidatingWebhookConfigurationStrategy,
)


def test_default_sets_no_reinvocation_policy():
    configuration = defaulted(ValidatingWebhookConfigurationStrategy(), named(webhooks=[{"name": "a"}]))
    assert "reinvocationPolicy" not in configuration["webhooks"][0]
