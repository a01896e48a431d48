"""Connections detached from aiohttp, and the tunnel of a ``CONNECT`` request (RFC 9110, 9.3.6): bytes to and
from a pod until one side closes.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from steersman.asynckit.tasks import Supervisor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

#: Buffer size; a slow reader blocks the sender.
_BUFFER_BYTES: Final = 64 * 1024


class _FromClient:
    """Protocol parser that passes a connection's bytes from aiohttp to a bounded StreamReader."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.reader: Final = asyncio.StreamReader(limit=_BUFFER_BYTES)
        self.reader.set_transport(transport)

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Pass data on."""
        self.reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        """Signal the end of the client's data."""
        self.reader.feed_eof()


def take_over(request: web.BaseRequest) -> asyncio.StreamReader:
    """Return a reader of the bytes that follow the request on its connection."""
    assert request.transport is not None
    client: Any = _FromClient(request.transport)
    request.protocol.set_parser(client)
    reader: asyncio.StreamReader = client.reader
    return reader


async def tunnel_connection(request: web.BaseRequest, pod: Streams) -> web.StreamResponse:
    """Respond with 200 and copy data. Closes the pod's connection; the caller closes the client's."""
    reader, writer = pod
    tasks = Supervisor(f"tunnel to {request.raw_path}")
    response = web.StreamResponse()
    response.force_close()

    async def to_pod(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    try:
        await response.prepare(request)
        client = take_over(request)
        copies = [
            tasks.start("to the pod", _copy(client, to_pod)),
            tasks.start("from the pod", _copy(reader, response.write)),
        ]
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await tasks.close()
        writer.close()
    return response


async def _copy(source: asyncio.StreamReader, send: Callable[[bytes], Awaitable[None]]) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_BUFFER_BYTES):
            await send(data)
