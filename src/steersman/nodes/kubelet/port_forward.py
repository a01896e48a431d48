"""Port forwarding over one WebSocket: kubectl's SPDY frames, or a pair of channels per port.

Each connection has two streams: its data, and an error message.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from typing import TYPE_CHECKING, Final

from aiohttp import WSMsgType

from steersman.asynckit.tasks import Supervisor
from steersman.nodes.kubelet import spdy
from steersman.nodes.kubelet.hosting import RequestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from aiohttp.web import WebSocketResponse

    from steersman.nodes.kubelet.channel_socket import ChannelSocket

    Connect = Callable[[int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
    Send = Callable[[bytes], Awaitable[None]]

#: Buffered chunks for the pod; more block the client.
_CHUNKS_MAX: Final = 32
_CHUNK_BYTES: Final = 32 * 1024
#: Concurrent connections of one WebSocket; more are refused.
_CONNECTIONS_MAX: Final = 256
_REFUSED_STREAM: Final = 3


async def binary(socket: WebSocketResponse) -> AsyncIterator[bytes]:
    """Yield the binary messages of a client until it disconnects."""
    async for message in socket:
        if message.type is WSMsgType.BINARY:
            yield message.data


class _Connection:
    """One forwarded connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        #: Data from the client; an empty chunk is the end.
        self.chunks: asyncio.Queue[bytes] = asyncio.Queue(_CHUNKS_MAX)

    async def forward(self, connect: Connect, send: Send, fail: Send) -> None:
        """Copy data in both directions until both end or one fails."""
        try:
            reader, writer = await connect(self.port)
        except (OSError, RequestError) as error:
            await fail(f"error forwarding port {self.port} to pod: {error}".encode())
            return
        sending = asyncio.create_task(self._send_to(writer), name=f"port {self.port}: to the pod")
        try:
            while data := await reader.read(_CHUNK_BYTES):
                await send(data)
        except OSError as error:
            await fail(f"error forwarding port {self.port} to pod: {error}".encode())
        finally:
            sending.cancel()
            await asyncio.wait([sending])
            writer.close()

    async def _send_to(self, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await self.chunks.get():
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()


class SpdyForwarding:
    """A client that opens a pair of streams for each connection (``SPDY/3.1+portforward.k8s.io``)."""

    def __init__(self, socket: WebSocketResponse, connect: Connect) -> None:
        self._socket = socket
        self._connect = connect
        self._reader, self._writer = spdy.Reader(), spdy.Writer()
        self._tasks = Supervisor("port forwarding")
        #: Connections by the ID of their data stream.
        self._connections: dict[int, _Connection] = {}
        #: Error streams without a data stream yet, by request ID.
        self._pairs: dict[str, int] = {}

    async def run(self) -> None:
        """Run until the client disconnects. Raises ``SpdyError``."""
        try:
            async for chunk in binary(self._socket):
                for frame in self._reader.feed(chunk):
                    if isinstance(frame, spdy.Data):
                        await self._data(frame)
                    else:
                        await self._control(frame)
        finally:
            await self._tasks.close()

    async def _control(self, frame: spdy.Control) -> None:
        if frame.type == spdy.PING:
            await self._send(self._writer.ping(frame.stream))
        elif frame.type == spdy.RST_STREAM:
            await self._put(frame.stream, b"")
        elif frame.type == spdy.SYN_STREAM:
            await self._opened(frame)

    async def _opened(self, frame: spdy.Control) -> None:
        port, request = frame.headers.get("port", ""), frame.headers.get("requestid", "")
        full = len(self._connections) >= _CONNECTIONS_MAX or len(self._pairs) >= _CONNECTIONS_MAX
        if not port.isdigit() or full:
            await self._send(self._writer.reset(frame.stream, status=_REFUSED_STREAM))
            return
        await self._send(self._writer.reply(frame.stream))
        if frame.headers.get("streamtype") == "error":
            self._pairs[request] = frame.stream
            return
        connection = self._connections[frame.stream] = _Connection(int(port))
        self._tasks.start(f"port {port}", self._forward(connection, frame.stream, self._pairs.pop(request, None)))

    async def _forward(self, connection: _Connection, stream: int, errors: int | None) -> None:
        async def send(data: bytes) -> None:
            await self._send(self._writer.data(stream, data))

        async def fail(message: bytes) -> None:
            if errors is not None:
                await self._send(self._writer.data(errors, message))

        try:
            await connection.forward(self._connect, send, fail)
        finally:
            self._connections.pop(stream, None)
        for channel in (errors, stream):
            if channel is not None:
                await self._send(self._writer.data(channel, b"", last=True))

    async def _data(self, frame: spdy.Data) -> None:
        if frame.data:
            await self._put(frame.stream, frame.data)
        if frame.flags & spdy.FIN:
            await self._put(frame.stream, b"")

    async def _put(self, stream: int, chunk: bytes) -> None:
        connection = self._connections.get(stream)
        if connection is not None:
            await connection.chunks.put(chunk)

    async def _send(self, data: bytes) -> None:
        if not self._socket.closed:
            await self._socket.send_bytes(data)


async def forward_channels(socket: ChannelSocket, ports: Sequence[int], connect: Connect) -> None:
    """Serve a client of channels: one connection per requested port, with a data and an error channel."""
    tasks = Supervisor("port forwarding")
    connections = [_Connection(port) for port in ports]

    async def forward(index: int) -> None:
        async def send(data: bytes, channel: int = 2 * index) -> None:
            await socket.send(channel, data)

        async def fail(message: bytes) -> None:
            await send(message, 2 * index + 1)

        await connections[index].forward(connect, send, fail)

    for index, connection in enumerate(connections):
        for channel in (2 * index, 2 * index + 1):
            await socket.send(channel, struct.pack("<H", connection.port))
    running = [tasks.start(f"port {connection.port}", forward(index)) for index, connection in enumerate(connections)]
    listening = tasks.start("client", _listen(socket, connections))
    try:
        while running and not listening.done():
            _, pending = await asyncio.wait([listening, *running], return_when=asyncio.FIRST_COMPLETED)
            running = [task for task in running if task in pending]
    finally:
        await tasks.close()


async def _listen(socket: ChannelSocket, connections: Sequence[_Connection]) -> None:
    async for channel, data in socket.receive():
        index, is_error = divmod(channel, 2)
        if not is_error and 0 <= index < len(connections) and data:
            await connections[index].chunks.put(data)
