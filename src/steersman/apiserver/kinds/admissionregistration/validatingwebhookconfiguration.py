"""Strategy of ValidatingWebhookConfigurations."""

from __future__ import annotations

from steersman.apiserver.kinds.admissionregistration.shared.webhooks import WebhookConfigurationStrategy


class ValidatingWebhookConfigurationStrategy(WebhookConfigurationStrategy):
    """Strategy of ValidatingWebhookConfigurations."""

    group_resource = "validatingwebhookconfigurations.admissionregistration.k8s.io"
