"""Handed-over connections end to end: a client, a started server and a backend."""

import asyncio
from contextlib import asynccontextmanager

from tests.busy_machine import HANG_SECONDS
from tests.unit.listening import connected_to, listening

from steersman.apiserver.filters.errors import errors
from steersman.apiserver.filters.request_info import request_info
from steersman.apiserver.proxying.connections import Connections
from steersman.apiserver.proxying.forwarding import proxy
from steersman.apiserver.proxying.kubelet import Location
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.http1.serving import Serving, listen
from steersman.asynckit.clock import RealClock

UPGRADE = b"GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\nAuthorization: Bearer secret\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst "


@asynccontextmanager
async def between(far_end):
    """Yield application and client of a server that forwards every request to ``far_end``."""
    connections = Connections(RealClock())
    connections.kubelet_tls = object()

    async def handler(request):
        location = Location("127.0.0.1", str(port), "/there", scheme="http")
        return await proxy(connections, location, request, as_kubelets_client=False)

    app = Application(errors()(request_info()(handler)), clock=RealClock())
    serving = Serving(app, clock=RealClock())
    sock = listen("127.0.0.1", 0)
    address = sock.getsockname()
    async with listening(far_end) as port:
        await serving.start(sock, None)
        try:
            async with connected_to(*address) as (reader, writer):
                yield app, reader, writer
        finally:
            await serving.stop(grace_seconds=1)


class Echo:
    """Backend that echoes until it receives ``bye``."""

    def __init__(self, answer: bytes = SWITCH) -> None:
        self.answer, self.head, self.ended = answer, b"", asyncio.Event()

    async def __call__(self, reader, writer) -> None:
        self.head = await reader.readuntil(b"\r\n\r\n")
        writer.write(self.answer)
        while (data := await reader.read(100)) and data != b"bye":
            writer.write(data)
        writer.close()
        self.ended.set()


async def test_bytes_are_copied_both_ways_until_backend_closes():
    async with between(echo := Echo()) as (_, reader, writer):
        writer.write(UPGRADE)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        assert b"upgrade: echo" in head
        writer.write(b"hello")
        assert await reader.readexactly(11) == b"first hello"
        writer.write(b"bye")
        assert await reader.read() == b""
        assert b"secret" not in echo.head
        assert echo.head.startswith(b"GET /there HTTP/1.1\r\n")


async def test_backend_connection_closes_when_client_disconnects():
    async with between(echo := Echo()) as (app, reader, writer):
        writer.write(UPGRADE)
        await reader.readuntil(b"first ")
        assert app.busy == 1
        writer.close()
        await asyncio.wait_for(echo.ended.wait(), HANG_SECONDS)


async def test_tunnel_ends_at_shutdown():
    async with between(Echo()) as (app, reader, writer):
        writer.write(UPGRADE)
        await reader.readuntil(b"first ")
        app.end_watches()
        assert await asyncio.wait_for(reader.read(), HANG_SECONDS) == b""


async def test_rejected_upgrade_returns_response_of_backend():
    refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: so\r\n\r\nno"
    async with between(Echo(refusal)) as (_, reader, writer):
        writer.write(UPGRADE)
        answer = await asyncio.wait_for(reader.read(), HANG_SECONDS)
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"x-why: so" in answer
        assert answer.endswith(b"\r\n\r\nno")


async def test_plain_request_is_forwarded():
    body = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: a/b\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
    )
    async with between(echo := Echo(body)) as (_, reader, writer):
        writer.write(b"POST /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-My: own\r\nContent-Length: 2\r\n\r\nhi")
        answer = await asyncio.wait_for(reader.read(), HANG_SECONDS)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"content-type: a/b" in answer
        assert b"one" in answer
        assert b"two" in answer
        assert b"x-my: own" in echo.head
        assert b"x-forwarded-uri: /x" in echo.head
