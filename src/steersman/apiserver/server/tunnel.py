"""Tunnels of upgraded connections: bytes are copied in both directions until one side closes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.http import Tunnel

    Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

#: Bytes copied at a time; a slow reader delays the sender.
_PIECE_BYTES: Final = 64 * 1024


async def copy_both_ways(take: Callable[[], Streams], tunnel: Tunnel, headers: list[tuple[bytes, bytes]]) -> None:
    """Respond with 101 and ``headers`` on the connection from ``take``, and copy bytes. Closes both connections."""
    reader, writer = take()
    lines = [b"HTTP/1.1 101 Switching Protocols", *(name + b": " + value for name, value in headers)]
    writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + tunnel.rest)
    ways = [
        asyncio.create_task(_copy(reader, tunnel.writer), name="tunnel: from the client"),
        asyncio.create_task(_copy(tunnel.reader, writer), name="tunnel: to the client"),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        # Data of the backend up to its close is written already; a client that closed needs no more.
    finally:
        for way in ways:
            way.cancel()
        await asyncio.wait(ways)
        for end in (tunnel.writer, writer):
            end.close()
            with contextlib.suppress(OSError):
                await end.wait_closed()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_PIECE_BYTES):
            target.write(data)
            await target.drain()
