"""MutatingWebhookConfigurations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.kinds.admissionregistration.shared.webhooks import WebhookConfigurationStrategy

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


class MutatingWebhookConfigurationStrategy(WebhookConfigurationStrategy):
    """Webhooks that may change what is written; each is asked once unless it says otherwise."""

    group_resource = "mutatingwebhookconfigurations.admissionregistration.k8s.io"

    def default_webhook(self, webhook: Tree) -> None:
        super().default_webhook(webhook)
        if webhook.get("reinvocationPolicy") is None:
            webhook["reinvocationPolicy"] = "Never"
