"""Forwarded connections to a pod, and their transport over a pair of WebSocket channels per port: data and an error
message. ``spdy_forwarding`` has the transport over SPDY streams.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from typing import TYPE_CHECKING, Final

from steersman.asynckit.tasks import Supervisor
from steersman.nodes.kubelet.client_input import Inbox
from steersman.nodes.kubelet.host import RequestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.kubelet.channel_socket import ChannelSocket
    from steersman.nodes.kubelet.host import Host

_CHUNK_BYTES: Final = 32 * 1024


class PortForwarder:
    """Connections to the ports of a pod."""

    def __init__(self, host: Host, pod: Tree) -> None:
        self._host = host
        self._pod = pod

    async def forward(
        self, port: int, receive: Callable[[], Awaitable[bytes]], send: Callable[[bytes], Awaitable[None]]
    ) -> str:
        """Copy data in both directions until the pod ends its side; return the text of an error, or nothing.

        ``receive`` returns the next data from the client, empty at the end. Upstream: ``httpStreamHandler.portForward``.
        """
        try:
            reader, writer = await self._host.connect(self._pod, port)
        except (OSError, RequestError) as error:
            return self._error_text(port, error)
        sending = asyncio.create_task(_send_to(writer, receive), name=f"port {port}: to the pod")
        try:
            while data := await reader.read(_CHUNK_BYTES):
                await send(data)
        except OSError as error:
            return self._error_text(port, error)
        finally:
            sending.cancel()
            await asyncio.wait([sending])
            writer.close()
        return ""

    def _error_text(self, port: int, error: Exception) -> str:
        metadata = self._pod["metadata"]
        return f"error forwarding port {port} to pod {metadata['name']}, uid {metadata.get('uid', '')}: {error}"


async def _send_to(writer: asyncio.StreamWriter, receive: Callable[[], Awaitable[bytes]]) -> None:
    with contextlib.suppress(OSError):
        while data := await receive():
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def forward_channels(socket: ChannelSocket, ports: Sequence[int], forwarder: PortForwarder) -> None:
    """Serve a client of channels: one connection per requested port, with a data and an error channel."""
    tasks = Supervisor("port forwarding")
    inboxes = [Inbox() for _ in ports]

    async def forward(index: int, port: int) -> None:
        async def send(data: bytes) -> None:
            await socket.send(2 * index, data)

        if error := await forwarder.forward(port, inboxes[index].read, send):
            await socket.send(2 * index + 1, error.encode())

    for index, port in enumerate(ports):
        for channel in (2 * index, 2 * index + 1):
            await socket.send(channel, struct.pack("<H", port))
    running = [tasks.start(f"port {port}", forward(index, port)) for index, port in enumerate(ports)]
    listening = tasks.start("client", _listen(socket, inboxes))
    try:
        while running and not listening.done():
            _, pending = await asyncio.wait([listening, *running], return_when=asyncio.FIRST_COMPLETED)
            running = [task for task in running if task in pending]
    finally:
        await tasks.close()


async def _listen(socket: ChannelSocket, inboxes: Sequence[Inbox]) -> None:
    async for channel, data in socket.receive():
        index, is_error = divmod(channel, 2)
        if not is_error and 0 <= index < len(inboxes) and data:
            await inboxes[index].put(data)
