"""Webhooks of admission plugins."""

from random import Random

import pytest
from tests.unit.review_webhook import review_webhook

from steersman.asynckit.clock import RealClock
from steersman.controlplane.options import OptionError
from steersman.controlplane.plugin_webhooks import PluginWebhooks


async def test_webhook_of_a_kubeconfig_is_called_until_it_is_closed(tmp_path):
    webhooks = PluginWebhooks(clock=RealClock(), dice=Random(1))
    async with review_webhook(tmp_path, lambda _: {"allowed": True}) as (webhook, kubeconfig):
        answer = await webhooks.open(str(kubeconfig), 0.5).call(b'{"spec":{"a":1}}', bytes)
        assert (webhook.specs, answer) == ([{"a": 1}], b'{"spec": {"a": 1}, "status": {"allowed": true}}')
        await webhooks.close()


def test_missing_kubeconfig_is_an_error_of_the_options(tmp_path):
    with pytest.raises(OptionError, match=r"^ImagePolicyWebhook: "):
        PluginWebhooks(clock=RealClock(), dice=Random(1)).open(str(tmp_path / "none"), 0.5)
