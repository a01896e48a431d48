"""A connection that is no HTTP any more (``CONNECT``; RFC 9110, 9.3.6): bytes to and from a pod, until one side closes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from steersman.asynckit.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

#: At once; who reads slowly holds up who sends.
_PIECE_BYTES: Final = 64 * 1024


class _FromClient:
    """Takes a connection's bytes from aiohttp, as its reader of WebSocket frames does. The socket is held up by its bound."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.reader: Final = asyncio.StreamReader(limit=_PIECE_BYTES)
        self.reader.set_transport(transport)

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """A piece; the end is the connection's."""
        self.reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        """The client has gone."""
        self.reader.feed_eof()


async def carry(request: web.BaseRequest, pod: Streams) -> web.StreamResponse:
    """Answer 200, and carry bytes. The pod's end is closed after it, and the client's by who called."""
    reader, writer = pod
    tasks = Supervisor(f"tunnel to {request.raw_path}")
    response = web.StreamResponse()
    response.force_close()

    async def to_pod(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    try:
        await response.prepare(request)
        assert request.transport is not None
        client: Any = _FromClient(request.transport)
        request.protocol.set_parser(client)
        ways = [
            tasks.start("to the pod", _copy(client.reader, to_pod)),
            tasks.start("from the pod", _copy(reader, response.write)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await tasks.close()
        writer.close()
    return response


async def _copy(source: asyncio.StreamReader, send: Callable[[bytes], Awaitable[None]]) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_PIECE_BYTES):
            await send(data)
