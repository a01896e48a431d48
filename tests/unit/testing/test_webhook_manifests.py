"""Webhook configurations for a webhook server on this machine."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from steersman.testing import local_webhooks

SERVICE = {"name": "webhook", "namespace": "system", "path": "/validate"}
LOCAL = {"url": "https://127.0.0.1:9443/validate", "caBundle": "Y2E="}


def configuration(kind: str, *client_configs: dict[str, Any]) -> dict[str, Any]:
    webhooks = [{"name": str(number), "clientConfig": config} for number, config in enumerate(client_configs)]
    return {"kind": f"{kind}WebhookConfiguration", "webhooks": webhooks}


def definition(conversion: dict[str, Any] | None) -> dict[str, Any]:
    return {"kind": "CustomResourceDefinition", "spec": {"conversion": conversion}}


def localized(obj: dict[str, Any]) -> dict[str, Any]:
    original = copy.deepcopy(obj)
    (result,) = local_webhooks([obj], url="https://127.0.0.1:9443", ca_bundle=b"ca")
    assert obj == original
    return result


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_services_of_configurations_are_replaced(kind: str) -> None:
    result = localized(configuration(kind, {"service": SERVICE}, {"service": SERVICE, "caBundle": "other"}))
    assert result == configuration(kind, LOCAL, LOCAL)


def test_service_without_a_path_leads_to_the_root() -> None:
    result = localized(configuration("Mutating", {"service": {"name": "a", "namespace": "b"}}))
    assert result["webhooks"][0]["clientConfig"]["url"] == "https://127.0.0.1:9443/"


def test_service_of_a_conversion_is_replaced() -> None:
    result = localized(definition({"strategy": "Webhook", "webhook": {"clientConfig": {"service": SERVICE}}}))
    assert result == definition({"strategy": "Webhook", "webhook": {"clientConfig": LOCAL}})


@pytest.mark.parametrize(
    "obj",
    [
        configuration("Mutating", {"url": "https://example.com/", "caBundle": "other"}),
        {"kind": "MutatingWebhookConfiguration"},
        definition(None),
        definition({"strategy": "None"}),
        {"kind": "Service", "webhooks": [{"clientConfig": {"service": SERVICE}}]},
    ],
)
def test_other_objects_stay_the_same(obj: dict[str, Any]) -> None:
    assert localized(obj) == obj
