"""Requests of a client that prefers CBOR, with a codec that is not ours, over TLS and over a WebSocket."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest
import yaml
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import MANIFESTS
from tests.e2e.test_protobuf_clients import path_of
from tests.e2e.test_websockets import websocket

from steersman.testing import ControlPlane

cbor2 = pytest.importorskip("cbor2", reason="the dev extra is not installed")

CBOR = "application/cbor"
SELF_DESCRIBED = b"\xd9\xd9\xf7"
OBJECTS = list(yaml.safe_load_all((MANIFESTS / "all-kinds.yaml").read_text().replace("NAMESPACE", "default")))


def read(body: bytes) -> Any:
    """Return the tree of a body, with texts in place of byte strings."""
    assert body.startswith(SELF_DESCRIBED)
    return texts(cbor2.loads(body))


def texts(value: Any) -> Any:
    if isinstance(value, cbor2.CBORTag):
        return texts(value.value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Mapping):  # inside tags, containers are immutable
        return {texts(key): texts(below) for key, below in value.items()}
    return [texts(below) for below in value] if isinstance(value, list | tuple) else value


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    with ControlPlane(arguments=["--feature-gates=CBORServingAndStorage=true"]) as plane:
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(plane.ca)))
        headers = {"Authorization": f"Bearer {plane.token}", "Accept": CBOR, "Content-Type": CBOR}
        timeout = aiohttp.ClientTimeout(total=HANG_SECONDS)
        async with aiohttp.ClientSession(plane.url, connector=connector, headers=headers, timeout=timeout) as session:
            yield session


async def ask(session: aiohttp.ClientSession, method: str, path: str, tree: Any = None) -> tuple[int, Any]:
    body = None if tree is None else cbor2.dumps(tree)
    async with session.request(method, path, data=body) as response:
        assert response.content_type == CBOR, (path, await response.text(errors="replace"))
        return response.status, read(await response.read())


async def test_every_kind_has_the_content_of_json(session):
    account = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "default"}}
    await ask(session, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
    for tree in OBJECTS:
        path, name = path_of(tree), tree["metadata"].get("name", "")
        code, answer = await ask(session, "POST", path, tree)
        assert code == 201, (path, answer)
        for place in (path, f"{path}/{name}") if name else ():
            expected, shown = await both_forms(session, place)
            assert shown == expected, place


async def both_forms(session: aiohttp.ClientSession, path: str) -> tuple[Any, Any]:
    """Return an object or a list in JSON and in CBOR, at one version: loops of the server change some objects."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            async with session.get(path, headers={"Accept": "application/json"}) as response:
                expected = await response.json()
            code, shown = await ask(session, "GET", path)
            assert code == 200, shown
            if shown["metadata"]["resourceVersion"] == expected["metadata"]["resourceVersion"]:
                return expected, shown


async def test_watch_over_a_websocket_sends_one_event_a_message(session):
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    await ask(session, "POST", "/api/v1/namespaces/default/configmaps", config_map)
    path = "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=600"
    async with asyncio.timeout(HANG_SECONDS), websocket(session, path) as socket:
        message = await socket.receive()
    assert message.type is aiohttp.WSMsgType.BINARY
    event = read(message.data)
    assert (event["type"], event["object"]["data"]) == ("ADDED", {"k": "v"})
