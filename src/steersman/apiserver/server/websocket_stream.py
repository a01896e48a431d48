"""WebSocket connection that carries a stream to the client: writes frames, handles control frames."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from steersman.apiserver.websocket import CLOSE, PING, PONG, close_frame, frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

#: Maximum size of a client message, which is dropped.
_PIECE_BYTES: Final = 64 * 1024
_CONTROL_BYTES_MAX: Final = 125
#: Time for the client's close frame, after which the connection is closed.
_CLOSING_SECONDS: Final = 2.0
_OPCODE: Final = 0x0F
_MASKED: Final = 0x80


async def serve_websocket(
    take: Callable[[], Streams], frames: AsyncIterator[bytes], headers: list[tuple[bytes, bytes]]
) -> None:
    """Respond with 101 and ``headers`` on the connection from ``take``, and write ``frames`` until one side closes.

    Raises what ``frames`` raises. Closes the connection.
    """
    reader, writer = take()
    lines = [b"HTTP/1.1 101 Switching Protocols", *(name + b": " + value for name, value in headers)]
    writer.write(b"\r\n".join(lines) + b"\r\n\r\n")
    sending = asyncio.create_task(_send(frames, writer), name="websocket: to the client")
    receiving = asyncio.create_task(_receive(reader, writer), name="websocket: from the client")
    is_close_sent = False
    try:
        await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
            writer.write(close_frame())
            is_close_sent = True
            await asyncio.wait((receiving,), timeout=_CLOSING_SECONDS)
    finally:
        for task in (sending, receiving):
            task.cancel()
        await asyncio.wait((sending, receiving))
        if not is_close_sent:
            writer.write(close_frame())
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _send(frames: AsyncIterator[bytes], writer: asyncio.StreamWriter) -> None:
    async for data in frames:
        writer.write(data)
        try:
            await writer.drain()
        except OSError:
            return


async def _receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Respond to pings and drop messages until the client closes, disconnects, or violates the protocol."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while True:
            first, second = await reader.readexactly(2)
            opcode, size = first & _OPCODE, second & ~_MASKED
            if not second & _MASKED or (opcode >= CLOSE and size > _CONTROL_BYTES_MAX):
                return
            if size > _CONTROL_BYTES_MAX:
                size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
            mask = await reader.readexactly(4)
            if opcode >= CLOSE:
                payload = await reader.readexactly(size)
                if opcode == CLOSE:
                    return
                if opcode == PING:
                    writer.write(frame(PONG, bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))))
                    await writer.drain()
                continue
            while size:
                size -= len(await reader.readexactly(min(size, _PIECE_BYTES)))
