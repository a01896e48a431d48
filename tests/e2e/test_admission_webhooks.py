"""Admission webhooks of a started server, and the example of docs/webhooks.md."""

from __future__ import annotations

import asyncio
import base64
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response, with_failures

from steersman.apimachinery.errors import StatusError
from steersman.client import Client
from steersman.testing import ControlPlane

PAGE = Path(__file__).parents[2] / "docs" / "webhooks.md"
CORE = {"apiVersion": "v1"}


@with_failures
async def respond(path: str, review: Any) -> bytes | None:
    request = review["request"]
    allowed = "deny" not in request["object"]["metadata"].get("labels", {})
    return http_response({**review, "response": {"uid": request["uid"], "allowed": allowed}})


def config_map(name: str, **labels: str) -> dict[str, Any]:
    return {**CORE, "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "labels": labels}}


def configuration(name: str, client_config: dict[str, Any], **fields: Any) -> dict[str, Any]:
    [text] = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    tree = yaml.safe_load(text)
    tree["metadata"]["name"] = name
    tree["webhooks"][0] |= {"clientConfig": client_config, "timeoutSeconds": 30, **fields}
    return tree


async def refusal(client: Client, tree: dict[str, Any]) -> str:
    with pytest.raises(StatusError) as caught:
        await client.create(tree)
    return caught.value.message


async def test_webhook_of_the_page_denies_by_url(client: Client):
    async with WebhookServer(respond) as hook:
        await client.create(configuration("demo", {"url": f"{hook.url}/validate", "caBundle": ca_bundle()}))
        await client.create(config_map("a"))
        text = await refusal(client, config_map("b", deny="yes"))
        assert text == 'admission webhook "demo.example.com" denied the request without explanation'


async def test_webhook_is_called_through_its_service(client: Client):
    async with WebhookServer(respond, hosts=("hook.default.svc",)) as hook:
        metadata = {"name": "hook", "namespace": "default"}
        # EndpointSlices cannot hold loopback addresses.
        spec = {"type": "ExternalName", "externalName": "localhost"}
        service = {"name": "hook", "namespace": "default", "path": "/validate", "port": hook.port}
        await client.create(configuration("demo", {"service": service, "caBundle": ca_bundle()}))
        assert 'service "hook" not found' in await refusal(client, config_map("a"))
        await client.create({**CORE, "kind": "Service", "metadata": metadata, "spec": spec})
        await client.create(config_map("a"))
        assert "denied the request" in await refusal(client, config_map("b", deny="yes"))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("hang", "context deadline exceeded"),
        ("huge", "response body exceeds 16777216 bytes"),
        ("close", "EOF"),
        ("garbage", "serializer for text/html doesn't exist"),
        ("redirect", "the server responded with the status code 307"),
    ],
)
async def test_webhook_that_fails_rejects_the_request(client: Client, path: str, text: str):
    async with WebhookServer(respond) as hook:
        config = {"url": f"{hook.url}/{path}", "caBundle": ca_bundle()}
        fields = {"timeoutSeconds": 1} if path == "hang" else {}
        await client.create(configuration("demo", config, **fields))
        async with asyncio.timeout(HANG_SECONDS):
            assert text in await refusal(client, config_map("a"))


async def test_webhook_with_another_certificate_is_rejected(client: Client):
    async with WebhookServer(respond, ca="another-ca") as hook:
        await client.create(configuration("demo", {"url": f"{hook.url}/x", "caBundle": ca_bundle()}))
        assert "x509: certificate signed by unknown authority" in await refusal(client, config_map("a"))
        assert hook.targets == []


async def test_webhook_that_is_the_api_server_itself_fails(plane: ControlPlane, client: Client):
    ca = base64.b64encode(plane.ca.read_bytes()).decode()
    url = f"{plane.url}/api/v1/namespaces/default/configmaps"
    await client.create(configuration("demo", {"url": url, "caBundle": ca}))
    assert "failed calling webhook" in await refusal(client, config_map("a"))
