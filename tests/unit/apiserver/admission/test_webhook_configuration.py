"""Webhooks of configurations."""

import pytest

from steersman.apiserver.admission.webhook_configuration import webhooks_of
from steersman.apiserver.webhooks.client import WebhookConfigError


def test_webhook_reads_its_fields():
    webhook = {"name": "w", "admissionReviewVersions": ["v2", "v1beta1"], "timeoutSeconds": 3}
    [webhook] = webhooks_of({"metadata": {"name": "a"}, "webhooks": [webhook]})
    assert (webhook.review_version, webhook.timeout_seconds, webhook.has_dry_run) == ("v1beta1", 3, False)
    with pytest.raises(WebhookConfigError):
        _ = webhook.target
