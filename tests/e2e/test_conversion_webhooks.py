"""Conversion webhooks of a started server: the example of docs/conversion.md, failures, and migration."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.busy_machine import HANG_SECONDS
from tests.unit.apiserver.crd.converting import convert
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response, with_failures

from steersman.apimachinery.errors import StatusError
from steersman.client import Client, custom, tree
from steersman.client.errors import NotFound
from steersman.testing import ControlPlane

PAGE = Path(__file__).parents[2] / "docs" / "conversion.md"
V1, V2 = (custom(f"example.com/{version}", "Screen", plural="screens") for version in ("v1", "v2"))
DEFINITIONS = tree("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@with_failures
async def respond(path: str, review: Any) -> bytes | None:
    request = review["request"]
    objects = [convert(item, request["desiredAPIVersion"]) for item in request["objects"]]
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    return http_response({**review, "response": response})


@pytest.fixture
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    migrates = "migration" in request.node.name
    arguments = ("--runtime-config=storagemigration.k8s.io/v1beta1=true",) if migrates else ()
    with ControlPlane(whole=migrates, nodes=0, arguments=arguments) as started:
        yield started


async def define(client: Client, client_config: dict[str, Any]) -> None:
    [text] = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    definition = yaml.safe_load(text)
    definition["spec"]["conversion"]["webhook"]["clientConfig"] = {**client_config, "caBundle": ca_bundle()}
    await client.create(definition)
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            try:
                await client.list(V2, namespace="default")
            except NotFound:
                await asyncio.sleep(0.01)  # noqa: TID251 — the server runs on the real clock
            else:
                return


def screen(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Screen", "metadata": metadata, "spec": {"size": "1x2"}}


async def test_webhook_of_the_page_converts_by_url(client: Client):
    async with WebhookServer(respond) as hook:
        await define(client, {"url": f"{hook.url}/convert"})
        await client.create(screen("a"))
        assert (await client.get(V2, "a", namespace="default"))["spec"] == {"width": 1, "height": 2}


async def test_webhook_is_called_through_its_service(client: Client):
    async with WebhookServer(respond, hosts=("hook.default.svc",)) as hook:
        service = {"name": "hook", "namespace": "default", "path": "/convert", "port": hook.port}
        await define(client, {"service": service})
        await client.create(screen("a"))
        with pytest.raises(StatusError, match='service "hook" not found'):
            await client.get(V2, "a", namespace="default")
        # EndpointSlices cannot hold loopback addresses.
        spec = {"type": "ExternalName", "externalName": "localhost"}
        metadata = {"name": "hook", "namespace": "default"}
        await client.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        assert (await client.get(V2, "a", namespace="default"))["spec"] == {"width": 1, "height": 2}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("huge", "response body exceeds 16777216 bytes"),
        ("close", "EOF"),
        ("garbage", "serializer for text/html doesn't exist"),
        ("redirect", "the server responded with the status code 307"),
    ],
)
async def test_failing_webhook_is_a_500(client: Client, path: str, text: str):
    async with WebhookServer(respond) as hook:
        await define(client, {"url": f"{hook.url}/{path}"})
        await client.create(screen("a"))
        with pytest.raises(StatusError, match=text) as caught:
            await client.get(V2, "a", namespace="default")
        assert caught.value.code == 500


async def test_hanging_webhook_holds_up_no_other_request(client: Client):
    async with WebhookServer(respond) as hook:
        await define(client, {"url": f"{hook.url}/hang"})
        await client.create(screen("a"))
        waiting = [asyncio.ensure_future(client.get(V2, "a", namespace="default")) for _ in range(20)]
        while len(hook.bodies) < len(waiting):  # noqa: ASYNC110 — calls arrive
            await asyncio.sleep(0.01)  # noqa: TID251 — the server runs on the real clock
        assert (await client.get(V1, "a", namespace="default"))["spec"] == {"size": "1x2"}
        for request in waiting:
            request.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_migration_rewrites_objects_of_the_old_version(client: Client):
    async with WebhookServer(respond) as hook:
        await define(client, {"url": f"{hook.url}/convert"})
        created = await client.create(screen("a"))
        definition = await client.get(DEFINITIONS, "screens.example.com")
        first, second = definition["spec"]["versions"]
        first["storage"], second["storage"] = False, True
        updated = await client.update(definition)
        assert updated["status"]["storedVersions"] == ["v1", "v2"]
        await client.create(
            {
                "apiVersion": "storagemigration.k8s.io/v1beta1",
                "kind": "StorageVersionMigration",
                "metadata": {"name": "screens"},
                "spec": {"resource": {"group": "example.com", "resource": "screens"}},
            }
        )
        async with asyncio.timeout(HANG_SECONDS):
            while (await client.get(DEFINITIONS, "screens.example.com"))["status"]["storedVersions"] != ["v2"]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # noqa: TID251 — the controller runs on the real clock
        rewritten = await client.get(V2, "a", namespace="default")
        assert rewritten["spec"] == {"width": 1, "height": 2}
        assert int(rewritten["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
