"""Client transport to the API server in this process: no socket, no TLS, the whole filter chain."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from steersman.client.transport import Response, TransportError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from steersman.apiserver.server.loopback import Exchange, Loopback
    from steersman.client.transport import Request


class _ExchangeStream:
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.status: Final = exchange.code
        self.headers: Final = _headers(exchange.headers)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._exchange:
                yield piece
        except ConnectionError as error:
            raise TransportError(str(error)) from error


class LoopbackTransport:
    """Implementation of ``client.transport.Transport`` over a ``Loopback``, as the user of its headers."""

    host: Final = "loopback"

    def __init__(self, loopback: Loopback) -> None:
        self._loopback = loopback

    async def request(self, request: Request) -> Response:
        """Return the whole response. Raises ``TransportError`` if the application returns none."""
        try:
            answer = await self._loopback.request(
                request.method, request.target, body=request.body, headers=request.headers
            )
        except ConnectionError as error:
            raise TransportError(str(error)) from error
        return Response(answer.code, _headers(answer.headers), answer.body)

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncIterator[_ExchangeStream]:
        """Return a streamed response. Raises ``TransportError`` if the application returns none."""
        exchange = self._loopback.open(request.method, request.target, body=request.body, headers=request.headers)
        try:
            await exchange.__aenter__()
        except ConnectionError as error:
            raise TransportError(str(error)) from error
        try:
            yield _ExchangeStream(exchange)
        finally:
            await exchange.__aexit__(None, None, None)

    async def close(self) -> None:
        """Do nothing; no connection is open."""


def _headers(pairs: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for key, value in pairs:
        name, text = key.decode("latin-1").lower(), value.decode("latin-1")
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return headers
