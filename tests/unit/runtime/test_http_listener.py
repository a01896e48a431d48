"""Listeners over a socket."""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, web
from tests.unit.listening import connected_to

from steersman.runtime.http_listener import listener_runner


async def echo(request):
    if request.path == "/socket":
        websocket = web.WebSocketResponse()
        await websocket.prepare(request)
        await websocket.close()
        return websocket
    return web.Response(text=f"{request.method} {request.path}", headers={"X-Own": "a"})


@asynccontextmanager
async def serving(**options):
    runner = listener_runner(echo, shutdown_seconds=1, **options)
    await runner.setup()
    sock = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, sock).start()
    try:
        async with ClientSession(f"http://127.0.0.1:{sock.getsockname()[1]}") as session:
            yield session
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/a/b"])
async def test_listener_passes_all_methods_and_paths_to_its_handler(method, path):
    async with serving() as session, session.request(method, path) as response:
        assert (response.status, await response.text()) == (200, f"{method} {path}")


async def test_listener_sends_no_server_header():
    async with serving() as session, session.get("/") as response, session.ws_connect("/socket") as websocket:
        assert response.headers["X-Own"] == "a"
        assert {"Date", "Server"} & set(response.headers) == {"Date"}
        assert {"Upgrade", "Server"} & set(websocket._response.headers) == {"Upgrade"}


@pytest.mark.parametrize("head", [b"", b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "])
async def test_connection_without_a_request_is_closed(head):
    async with serving(idle_seconds=0.01) as session:
        base = session._base_url
        async with connected_to(base.host, base.port) as (reader, writer):
            writer.write(head)
            assert await reader.read() == b""
