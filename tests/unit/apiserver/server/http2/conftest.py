"""A connection over an in-memory transport with a fake clock, and an application that waits where a test says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.apiserver.server.recording_app import RecordingApp
from tests.unit.http2_peer import Http2Peer

from steersman.apiserver.server.http1.limits import Timeouts
from steersman.apiserver.server.http1.state import ServerState
from steersman.apiserver.server.http2.connection import Http2Connection
from steersman.asynckit.clock import FakeClock

MAX_STREAMS = 4


class Transport:
    """Transport that passes writes to the peer and records how the connection ends."""

    def __init__(self, peer: Http2Peer) -> None:
        self.peer = peer
        self.writes = 0
        self.end: str | None = None
        self.unsent = 0
        self.tls: Any = None

    def write(self, data: bytes) -> None:
        self.writes += 1
        if self.end is None:
            self.peer.feed(data)

    def close(self) -> None:
        self.end = self.end or "closed"

    def abort(self) -> None:
        self.end = "aborted"

    def is_closing(self) -> bool:
        return self.end is not None

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"sockname": ("127.0.0.1", 1), "peername": ("127.0.0.1", 2)}.get(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...


class App(RecordingApp):
    """Application that responds with what the path names."""

    def __init__(self) -> None:
        super().__init__()
        self.scopes: list[Any] = []

    def described(self, scope: Any) -> list[Any]:
        self.scopes.append(scope)
        return super().described(scope)

    async def respond(self, scope: Any, entry: list[Any], receive: Any, send: Any) -> None:
        path = scope["path"]
        if path == "/slow":
            await self.go.wait()
        if path == "/gone":
            await self.wait_for_disconnect(entry, receive)
            return
        if path == "/fails":
            raise RuntimeError("on purpose")
        if path in ("/stream", "/breaks"):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begin", "more_body": True})
            await self.go.wait()
            if path == "/breaks":
                raise RuntimeError("on purpose")
            await send({"type": "http.response.body", "body": b"end"})
            return
        text = b"x" * int(scope["query_string"]) if path == "/large" else b"%d" % len(entry[-2])
        headers = [(b"content-length", b"%d" % len(text)), (b"audit-id", b"a")]
        if path == "/close":
            headers.append((b"connection", b"close"))
        code = 204 if path == "/empty" else 200
        await send({"type": "http.response.start", "status": code, "headers": headers})
        await send({"type": "http.response.body", "body": text})


class Client:
    """A connection with its peer, transport, application and clock."""

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self.app, self.clock, self.peer = App(), FakeClock(), Http2Peer()
        self.transport = Transport(self.peer)
        self.state = ServerState(self.app, self.clock, timeouts or Timeouts())
        self.state.date_line = b"date: now\r\n"
        self.connection = Http2Connection(self.state, MAX_STREAMS)

    async def connect(self, settings: dict[int, int] | None = None) -> None:
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]  # the methods that are called
        await self.send(self.peer.preface(settings))

    async def send(self, *frames: bytes) -> None:
        if self.transport.end is None:
            self.connection.data_received(b"".join(frames))
        await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop

    async def advance(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.settle()

    async def get(self, path: str = "/", *headers: tuple[str, str], method: str = "GET") -> Any:
        """Send a request without a body; return what is received on its stream."""
        number = self.peer.next_number
        await self.send(self.peer.headers(method, path, *headers))
        return self.peer.stream(number)

    def lose(self) -> None:
        self.transport.end = self.transport.end or "lost"
        self.connection.connection_lost(None)


async def ended(client: Client) -> None:
    """Lose the connection; check that it leaves nothing behind."""
    client.app.go.set()
    client.app.takes_body.set()
    client.lose()
    await client.settle()
    assert client.state.tasks == set()
    assert client.state.connections == set()
    assert client.clock.waiting == 0


@pytest.fixture
async def idle_client():
    """Client that has sent nothing."""
    client = Client()
    client.connection.connection_made(client.transport)  # type: ignore[arg-type]  # the methods that are called
    yield client
    await ended(client)


@pytest.fixture
async def client():
    """Client that has sent its preface."""
    client = Client()
    await client.connect()
    yield client
    await ended(client)


@pytest.fixture
async def narrow_client():
    """Client whose streams have a window of 10 bytes."""
    client = Client()
    await client.connect({4: 10})
    yield client
    await ended(client)
