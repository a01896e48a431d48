"""Numbered channels over a WebSocket, in binary or in base64.

| subprotocol | messages | status of exec and attach |
| --- | --- | --- |
| ``v5.channel.k8s.io`` | binary; the client may close a channel | Status |
| ``v4.channel.k8s.io`` | binary | Status |
| ``v4.base64.channel.k8s.io`` | text: the channel's digit, then base64 | Status |
| ``channel.k8s.io``, none | binary | text, of failures only |
| ``base64.channel.k8s.io`` | text: the channel's digit, then base64 | text, of failures only |

Upstream: ``k8s.io/apimachinery/pkg/util/httpstream/wsstream`` and ``k8s.io/kubelet/pkg/cri/streaming/remotecommand``.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import TYPE_CHECKING, Final

from aiohttp import WSMsgType

from steersman.asynckit.timeouts import woken

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp.web import WebSocketResponse

    from steersman.asynckit.clock import Clock

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"
V4_BASE64: Final = "v4.base64.channel.k8s.io"
V1: Final = "channel.k8s.io"
V1_BASE64: Final = "base64.channel.k8s.io"
#: Subprotocol of clients that request none.
CHANNEL_PROTOCOLS: Final = (V5, V4, V4_BASE64, V1, V1_BASE64)

_BASE64: Final = frozenset({V4_BASE64, V1_BASE64})
_WITH_STATUS: Final = frozenset({V5, V4, V4_BASE64})
_ZERO: Final = ord("0")
#: Longest wait for a client that does not answer pings.
_PONG_SECONDS: Final = 1.0


class ChannelSocket:
    """Channel messages over a WebSocket after its handshake, which does not answer pings itself."""

    def __init__(self, socket: WebSocketResponse, *, clock: Clock) -> None:
        self._socket = socket
        self._clock = clock
        self._ponged = asyncio.Event()
        self._is_base64 = socket.ws_protocol in _BASE64
        #: True if the result of a command is a Status; otherwise it is a text, empty on success.
        self.has_status = socket.ws_protocol in _WITH_STATUS

    async def wait_for_reader(self) -> None:
        """Wait until the client answers a ping, which ``receive`` notices.

        kubectl discards messages that it reads before it has created its streams; it does both at the same time.
        """
        if not self._socket.closed:
            await self._socket.ping()
            await woken(self._ponged, _PONG_SECONDS, clock=self._clock)

    async def send(self, channel: int, data: bytes) -> None:
        """Send a message; it is dropped after the client has disconnected."""
        if self._socket.closed:
            return
        if self._is_base64:
            await self._socket.send_str(f"{channel}{base64.b64encode(data).decode()}")
        else:
            await self._socket.send_bytes(bytes([channel]) + data)

    async def receive(self) -> AsyncIterator[tuple[int, bytes]]:
        """Yield channels and data until the client disconnects. Malformed messages are dropped."""
        async for message in self._socket:
            if message.type is WSMsgType.TEXT:
                raw = message.data.encode()
            elif message.type is WSMsgType.BINARY:
                raw = message.data
            elif message.type is WSMsgType.PING:
                await self._socket.pong(message.data)
                continue
            else:
                if message.type is WSMsgType.PONG:
                    self._ponged.set()
                continue
            if not raw:
                continue
            if not self._is_base64:
                yield raw[0], raw[1:]
                continue
            try:
                yield raw[0] - _ZERO, base64.b64decode(raw[1:], validate=True)
            except binascii.Error:
                continue
