"""Strategy of MutatingWebhookConfigurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.kinds.admissionregistration.shared.webhooks import WebhookConfigurationStrategy

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


class MutatingWebhookConfigurationStrategy(WebhookConfigurationStrategy):
    """Strategy of MutatingWebhookConfigurations; ``reinvocationPolicy`` defaults to Never."""

    group_resource = "mutatingwebhookconfigurations.admissionregistration.k8s.io"

    def default_webhook(self, webhook: Tree) -> None:
        super().default_webhook(webhook)
        if webhook.get("reinvocationPolicy") is None:
            webhook["reinvocationPolicy"] = "Never"
