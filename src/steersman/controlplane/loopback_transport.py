"""Client transport to the API server in this process: no socket, no TLS, the whole filter chain."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from steersman.client.transport import Response, TransportError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from steersman.apiserver.server.loopback import Exchange, Loopback
    from steersman.client.transport import Request


class _ExchangeStream:
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.status: Final = exchange.code
        self.headers: Final[Mapping[str, str]] = _Headers(exchange.headers)

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
        return Response(answer.code, _Headers(answer.headers), answer.body)

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


class _Headers(Mapping[str, str]):
    """Headers of a response by name, decoded on first use, because clients rarely read them."""

    __slots__ = ("_decoded", "_pairs")

    def __init__(self, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs
        self._decoded: dict[str, str] | None = None

    def _headers(self) -> dict[str, str]:
        headers = self._decoded
        if headers is None:
            headers = self._decoded = {}
            for key, value in self._pairs:
                name, text = key.decode("latin-1").lower(), value.decode("latin-1")
                headers[name] = f"{headers[name]}, {text}" if name in headers else text
        return headers

    def __getitem__(self, name: str) -> str:
        return self._headers()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._headers())

    def __len__(self) -> int:
        return len(self._headers())
