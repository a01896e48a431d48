"""Watches and logs over WebSockets, as a browser asks for them, and the kubelet's subprotocols."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.testing import ControlPlane

PODS = "/api/v1/namespaces/default/pods"
#: Streams of a storm.
STREAMS = 90
STREAM_QUERIES = ("exec?command=a&stdout=true", "attach?stdout=true", "log?follow=true")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "annotations": {"nodes.steersman.dev/logs": "hello", "nodes.steersman.dev/exec-output": "done\n"},
    },
    "spec": {"containers": [{"name": "c", "image": "web:1"}]},
}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(whole=True, nodes=1) as started:
        yield started


def connector(plane: ControlPlane) -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(plane.ca)))


@asynccontextmanager
async def websocket(
    session: aiohttp.ClientSession, path: str, protocols: Sequence[str] = (), **options: Any
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """Open a WebSocket whose connection ends with the block: it does not wait for the orderly end of TLS."""
    async with session.ws_connect(path, protocols=protocols, **options) as socket:
        connection = socket._response.connection
        assert connection is not None
        transport = connection.transport
        assert isinstance(transport, asyncio.Transport)
        yield socket
    transport.abort()


@pytest.fixture
async def session(plane: ControlPlane) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {plane.token}"}
    async with aiohttp.ClientSession(plane.url, connector=connector(plane), headers=headers) as opened:
        yield opened


def token_protocol(plane: ControlPlane) -> str:
    token = base64.urlsafe_b64encode(plane.token.encode()).decode().rstrip("=")
    return f"base64url.bearer.authorization.k8s.io.{token}"


async def running_pod(session: aiohttp.ClientSession) -> None:
    """Create the pod unless it exists, and wait with a watch over a WebSocket until it runs."""
    async with session.post(PODS, json=POD) as answer:
        assert answer.status in {201, 409}
    query = "watch=1&fieldSelector=metadata.name=web"
    async with websocket(session, f"{PODS}?{query}", timeout=aiohttp.ClientWSTimeout(ws_receive=50)) as watch:
        async for message in watch:
            assert message.type is aiohttp.WSMsgType.TEXT
            pod: dict[str, Any] = json.loads(message.data)["object"]
            if (pod.get("status") or {}).get("phase") == "Running":
                return


async def test_browser_watches_with_its_token_in_a_subprotocol(plane: ControlPlane) -> None:
    protocols = ("base64.binary.k8s.io", token_protocol(plane))
    namespaces = "/api/v1/namespaces?watch=1&fieldSelector=metadata.name=default"
    async with (
        aiohttp.ClientSession(plane.url, connector=connector(plane)) as browser,
        websocket(browser, namespaces, protocols, origin="https://dashboard.example.com") as socket,
    ):
        assert socket.protocol == "base64.binary.k8s.io"
        event = await socket.receive_json()
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "default")


@pytest.mark.parametrize("protocol", ["", "binary.k8s.io", "base64.binary.k8s.io"])
async def test_log_is_read_over_a_websocket(session: aiohttp.ClientSession, protocol: str) -> None:
    await running_pod(session)
    async with websocket(session, f"{PODS}/web/log", (protocol,) if protocol else ()) as socket:
        text = b""
        async for message in socket:
            text += base64.b64decode(message.data) if "base64" in protocol else message.data
        assert text == b"hello\n"
        assert (socket.protocol or "", socket.close_code) == (protocol, 1000)


async def stream_figures(session: aiohttp.ClientSession) -> tuple[int, int]:
    """Return the number of open files of the API server, and of its streams of pods."""
    async with session.get("/metrics") as answer:
        lines = (await answer.text()).splitlines()
    (files,) = [line.split()[1] for line in lines if line.startswith("process_open_fds")]
    streams = [
        int(float(line.rpartition(" ")[2]))
        for line in lines
        if line.startswith("apiserver_longrunning_requests{")
        and any(f'subresource="{name}"' in line for name in ("exec", "attach", "log"))
    ]
    return int(float(files)), sum(streams)


async def storm(session: aiohttp.ClientSession) -> None:
    """Open streams side by side; every second command is followed to its end, the other streams break after a message."""

    async def stream(number: int) -> None:
        query = STREAM_QUERIES[number % len(STREAM_QUERIES)]
        protocols = () if "log" in query else ("v5.channel.k8s.io",)
        async with websocket(session, f"{PODS}/web/{query}", protocols) as socket:
            message = await socket.receive()
            while number % 2 and "exec" in query and message.type is aiohttp.WSMsgType.BINARY:
                message = await socket.receive()

    await asyncio.gather(*map(stream, range(STREAMS)))


async def test_storms_of_streams_that_break_leave_nothing_open(plane: ControlPlane) -> None:
    headers = {"Authorization": f"Bearer {plane.token}"}
    limitless = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(plane.ca)), limit=0)
    async with aiohttp.ClientSession(plane.url, connector=limitless, headers=headers) as session:
        await running_pod(session)
        await storm(session)  # connections to the kubelet may stay
        before, _ = await until_still(session, files_max=None)
        await storm(session)
        await until_still(session, files_max=before)


async def until_still(session: aiohttp.ClientSession, *, files_max: int | None) -> tuple[int, int]:
    """Return the figures when no stream is open, and no more files than ``files_max``."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            files, streams = await stream_figures(session)
            if not streams and (files_max is None or files <= files_max):
                return files, streams
