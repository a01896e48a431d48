"""Connections that carry SPDY/3.1 frames: an HTTP connection that was upgraded, or a WebSocket.

Upstream: ``k8s.io/streaming/pkg/httpstream`` (``Handshake``) and its ``spdy`` (``UpgradeResponse``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aiohttp import WSMsgType, web

from steersman.nodes.kubelet.host import RequestError
from steersman.nodes.kubelet.tunnel import take_over

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Sequence

SPDY: Final = "SPDY/3.1"
_PROTOCOL_HEADER: Final = "X-Stream-Protocol-Version"
_ACCEPTED_HEADER: Final = "X-Accepted-Stream-Protocol-Versions"
_BUFFER_BYTES: Final = 64 * 1024


def is_spdy(request: web.BaseRequest) -> bool:
    """Report whether the client requests an upgrade to SPDY."""
    headers = request.headers
    return "upgrade" in headers.get("Connection", "").lower() and SPDY.lower() in headers.get("Upgrade", "").lower()


class UpgradedConnection:
    """Connection after the response 101."""

    def __init__(self, request: web.BaseRequest, response: web.StreamResponse, reader: asyncio.StreamReader) -> None:
        self.response: Final = response
        #: Negotiated version of the streams' protocol.
        self.protocol: Final = response.headers[_PROTOCOL_HEADER]
        self._transport = request.transport
        self._reader = reader

    @classmethod
    async def upgrade(cls, request: web.BaseRequest, protocols: Sequence[str]) -> UpgradedConnection:
        """Upgrade with the first of the client's protocols that is in ``protocols``. Raises ``RequestError``."""
        protocol = _negotiate(request, protocols)
        response = web.StreamResponse(
            status=101, headers={"Connection": "Upgrade", "Upgrade": SPDY, _PROTOCOL_HEADER: protocol}
        )
        reader = take_over(request)
        await response.prepare(request)
        response.force_close()
        return cls(request, response, reader)

    async def receive(self) -> AsyncIterator[bytes]:
        """Yield data until the client disconnects."""
        while data := await self._reader.read(_BUFFER_BYTES):
            yield data

    async def send(self, data: bytes) -> None:
        """Send data. Raises ``OSError``."""
        await self.response.write(data)

    def abort(self) -> None:
        """Close without waiting for the client."""
        if self._transport is not None:
            self._transport.abort()


def _negotiate(request: web.BaseRequest, protocols: Sequence[str]) -> str:
    values = request.headers.getall(_PROTOCOL_HEADER, [])
    if not values:
        raise RequestError(
            f"unable to upgrade: header {_PROTOCOL_HEADER} does not exist in request with {len(request.headers)} headers"
        )
    offered = [name.strip() for value in values for name in value.split(",") if name.strip()]
    if not offered:
        raise RequestError(
            f"unable to upgrade: header {_PROTOCOL_HEADER} contains [{' '.join(values)}], but no valid protocols"
        )
    chosen = next((name for name in offered if name in protocols), None)
    if chosen is None:
        raise RequestError(
            f"unable to upgrade: unable to negotiate protocol: client supports [{' '.join(offered)}], "
            f"server accepts [{' '.join(protocols)}]",
            code=403,
            headers=[(_ACCEPTED_HEADER, name) for name in protocols],
        )
    return chosen


class WebSocketConnection:
    """WebSocket whose binary messages are SPDY frames (``SPDY/3.1+portforward.k8s.io``)."""

    def __init__(self, request: web.BaseRequest, socket: web.WebSocketResponse) -> None:
        self._transport = request.transport
        self._socket = socket

    async def receive(self) -> AsyncIterator[bytes]:
        """Yield the binary messages until the client disconnects."""
        async for message in self._socket:
            if message.type is WSMsgType.BINARY:
                yield message.data
            elif message.type is WSMsgType.PING:
                await self._socket.pong(message.data)

    async def send(self, data: bytes) -> None:
        """Send a binary message; it is dropped after the client has disconnected."""
        if not self._socket.closed:
            await self._socket.send_bytes(data)

    def abort(self) -> None:
        """Close without waiting for the client."""
        if self._transport is not None:
            self._transport.abort()
