"""Bytes of an HTTP connection: the answers are well-formed HTTP, and do not depend on how the bytes are split into packets.

The first byte seeds the split; the rest is what the client sends.
"""

from __future__ import annotations

import asyncio
import random
from functools import cache
from types import SimpleNamespace
from typing import Any

import httptools

from steersman.apiserver.server.http1.connection import ServerConnection
from steersman.apiserver.server.http1.limits import Timeouts
from steersman.apiserver.server.http1.state import ServerState
from steersman.asynckit.clock import FakeClock

TOKENS = (b"GET / HTTP/1.1\r\n", b"POST /api HTTP/1.1\r\n", b"Host: a\r\n", b"\r\n", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n",
          b"3\r\nabc\r\n", b"Connection: close\r\n", b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"Expect: 100-continue\r\n", b"HTTP/1.0", b"HTTP/2.0",
          b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\n", b"OPTIONS * HTTP/1.1\r\n", b"GET http://a:99999/ HTTP/1.1\r\n", b"/%zz", b"//api",
          b"\xff", b"\x00", b"Content-Length: -1\r\n", b"a:b\n", b" \t", b"GET /\xc3\xa4 HTTP/1.1\r\n", b"#f", b"?a=b", b"HTTP/0.9", b"\x16\x03\x01")  # fmt: skip
SIZE_MAX = 4096


def run(data: bytes) -> None:
    seed, sent = data[:1], data[1 : SIZE_MAX + 1]
    dice = random.Random(seed)
    whole, requests = _exchange([sent])
    pieces, at = [], 0
    while at < len(sent):
        size = dice.choice((1, 2, 3, 7, 40))
        pieces.append(sent[at : at + size])
        at += size
    split, split_requests = _exchange(pieces)
    assert requests == split_requests, (requests, split_requests)
    assert _codes(whole) == _codes(split), (whole, split)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


class _Transport:
    """Collects what the server writes."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.closed = False

    def write(self, data: bytes) -> None:
        if not self.closed:
            self.written += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"sockname": ("127.0.0.1", 1), "peername": ("127.0.0.1", 2)}.get(name, default)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...


def _exchange(pieces: list[bytes]) -> tuple[bytes, list[Any]]:
    """Send the pieces over a connection; return what the server wrote and the requests that the application received."""
    return _loop().run_until_complete(_converse(pieces))


async def _converse(pieces: list[bytes]) -> tuple[bytes, list[Any]]:
    requests: list[Any] = []
    faults: list[dict[str, Any]] = []
    _loop().set_exception_handler(lambda _, context: faults.append(context))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        entry = [
            scope["method"],
            scope["path"],
            scope["raw_path"],
            scope["query_string"],
            list(scope["headers"]),
            b"",
            "open",
        ]
        requests.append(entry)
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                # How much of the body comes before its malformed part depends on the packets.
                entry[-2:] = b"", "cut"
                return
            entry[-2] += message.get("body", b"")
            if not message.get("more_body"):
                break
        entry[-1] = "complete"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    transport = _Transport()
    state = ServerState(app, FakeClock(), Timeouts())
    connection = ServerConnection(state)
    connection.connection_made(transport)  # type: ignore[arg-type]  # the methods that are called
    for piece in pieces:
        if not transport.closed:
            connection.data_received(piece)
            await _settle(state)
    connection.connection_lost(None)
    await _settle(state)
    assert not state.tasks, "the application is still running"
    assert not state.connections
    assert not faults, faults
    assert b"500 Internal" not in transport.written
    return bytes(transport.written), requests


async def _settle(state: ServerState) -> None:
    """Run what is ready: each request takes a few passes of the loop, and the next one starts when it is done."""
    for _ in range(4):
        await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop
    tasks = None
    while state.tasks and state.tasks != tasks:  # while other requests start
        tasks = set(state.tasks)
        for _ in range(4):
            await asyncio.sleep(0)  # noqa: TID251 — one pass of the loop


def _codes(written: bytes) -> list[int]:
    """Return the status codes in a stream of responses. Raises HttpParserError if it is not HTTP."""
    codes: list[int] = []
    state = SimpleNamespace(on_message_begin=lambda: None)
    parser: Any = None

    def complete() -> None:
        code = parser.get_status_code()
        if code != 100:  # whether the client waits depends on the packets
            codes.append(code)

    state.on_headers_complete = complete
    parser = httptools.HttpResponseParser(state)
    parser.feed_data(written)
    return codes
