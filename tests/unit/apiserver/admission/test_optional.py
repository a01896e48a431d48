from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import AllowAllBut, Server

from steersman.apiserver.admission.chain import ORDER, AdmissionChain
from steersman.apiserver.admission.optional import optional_plugins

CONFIGURATIONS = {
    "EventRateLimit": {"limits": [{"type": "Server", "qps": 1, "burst": 1}]},
    "ImagePolicyWebhook": {"imagePolicy": {"kubeConfigFile": "/k"}},
}


def open_webhook(file, backoff_seconds):
    return None


async def test_optional_plugins_have_their_name_and_position():
    async with Server() as server:
        makers = optional_plugins(
            server.registry, authorizer=AllowAllBut(), configurations=CONFIGURATIONS, open_webhook=open_webhook
        )
        by_name = {name: make().name for name, make in makers.items()}
        assert list(by_name) == list(by_name.values())
        assert set(by_name) <= set(ORDER)
        AdmissionChain([make() for make in makers.values()])


async def test_event_rate_limit_requires_a_configuration():
    async with Server() as server:
        makers = optional_plugins(server.registry, authorizer=AllowAllBut())
        with pytest.raises(ValueError, match="limits: must not be empty"):
            makers["EventRateLimit"]()
