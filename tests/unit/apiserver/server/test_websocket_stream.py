"""WebSockets of a started server, with a browser-like client."""

import asyncio
import base64
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest
from tests.unit.listening import connected_to

from steersman.apiserver.filters.errors import errors
from steersman.apiserver.filters.request_info import request_info
from steersman.apiserver.http import Response
from steersman.apiserver.server.app import Application
from steersman.apiserver.server.http1.serving import Serving, listen
from steersman.apiserver.websocket import bytes_over_websocket, is_websocket, watch_over_websocket
from steersman.asynckit.clock import RealClock

WATCH = "/api/v1/pods?watch=1"
LOG = "/api/v1/namespaces/a/pods/b/log"


class Source:
    """Stream of pieces that a test adds; records its closing."""

    def __init__(self):
        self.pieces, self.closed = asyncio.Queue(), asyncio.Event()

    def __aiter__(self):
        return self

    async def __anext__(self):
        if (piece := await self.pieces.get()) is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self):
        self.closed.set()


@asynccontextmanager
async def serving(source):
    async def handler(request):
        if not is_websocket(request):
            return Response(200, b"plain")
        over = watch_over_websocket if request.info.verb == "watch" else bytes_over_websocket
        return over(request, source)

    app = Application(errors()(request_info()(handler)), clock=RealClock())
    server = Serving(app, clock=RealClock())
    sock = listen("127.0.0.1", 0)
    host, port = sock.getsockname()
    await server.start(sock, None)
    try:
        async with aiohttp.ClientSession(f"http://{host}:{port}") as session:
            session.app, session.address = app, (host, port)
            yield session
    finally:
        await server.stop(grace_seconds=1)


async def test_events_are_text_messages_until_watch_ends():
    source = Source()
    async with serving(source) as session, session.ws_connect(WATCH, origin="http://localhost") as socket:
        for number in range(3):
            source.pieces.put_nowait(json.dumps({"n": number}).encode() + b"\n")
        assert [(await socket.receive_json())["n"] for _ in range(3)] == [0, 1, 2]
        source.pieces.put_nowait(b"{}\n" * 70_000)
        for _ in range(70_000):
            assert (await socket.receive()).data == "{}\n"
        source.pieces.put_nowait(None)
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
        assert socket.close_code == 1000
        await source.closed.wait()


@pytest.mark.parametrize(
    ("protocols", "decode"),
    [((), bytes), (("binary.k8s.io",), bytes), (("base64.binary.k8s.io",), base64.b64decode)],
)
async def test_bytes_are_messages_of_subprotocol(protocols, decode):
    source = Source()
    async with serving(source) as session, session.ws_connect(LOG, protocols=protocols) as socket:
        source.pieces.put_nowait(b"line\n")
        received = [(await socket.receive()).data for _ in range(2)]
        assert [decode(data) for data in received] == [b"", b"line\n"]
        assert socket.protocol == (protocols[0] if protocols else None)


async def test_pings_are_answered_and_messages_dropped():
    source = Source()
    async with serving(source) as session, session.ws_connect(WATCH, autoping=False) as socket:
        await socket.send_str("x" * 200_000)
        await socket.ping(b"now")
        assert await socket.receive() == (aiohttp.WSMsgType.PONG, b"now", "")


async def test_stream_is_closed_when_client_closes():
    source = Source()
    async with serving(source) as session:
        async with session.ws_connect(WATCH):
            assert session.app.busy == 1
        await source.closed.wait()
        assert session.app.busy == 0


@pytest.mark.parametrize("sent", [b"\x81\x01x", b"\x89\xfe\x00\x80"])
async def test_stream_is_closed_on_protocol_error(sent):
    source = Source()
    async with serving(source) as session, connected_to(*session.address) as (reader, writer):
        head = f"GET {WATCH} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        writer.write(f"{head}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\n\r\n".encode() + sent)
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
        assert answer.endswith(b"\r\n\r\n\x88\x02\x03\xe8")
        await source.closed.wait()


async def test_watches_end_at_shutdown():
    source = Source()
    async with serving(source) as session, session.ws_connect(WATCH) as socket:
        session.app.end_watches()
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
        await source.closed.wait()


async def test_failed_stream_closes_connection_and_is_logged(caplog):
    class Failing(Source):
        async def __anext__(self):
            raise RuntimeError("the source broke")

    async with serving(Failing()) as session, session.ws_connect(WATCH) as socket:
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    assert "the source broke" in caplog.text


async def test_rejected_handshake_is_a_status():
    async with serving(Source()) as session:
        headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        async with session.get(WATCH, headers=headers) as answer:
            assert (answer.status, (await answer.json())["kind"]) == (400, "Status")
