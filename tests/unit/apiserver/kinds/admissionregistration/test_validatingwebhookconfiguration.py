from __future__ import annotations

from tests.unit.apiserver.kinds.samples import defaulted, named

from steersman.apiserver.kinds.admissionregistration.validatingwebhookconfiguration import (
    ValidatingWebhookConfigurationStrategy,
)


def test_who_only_validates_is_not_asked_again():
    configuration = defaulted(ValidatingWebhookConfigurationStrategy(), named(webhooks=[{"name": "a"}]))
    assert "reinvocationPolicy" not in configuration["webhooks"][0]
