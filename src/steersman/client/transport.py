"""Transport interface: the client's requirements on an HTTP library.

Implementations: ``aiohttp_transport`` (TCP) and ``controlplane.loopback_transport`` (the API server in this process).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, urlencode

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager


class TransportError(Exception):
    """No response: the connection failed, broke or timed out.

    The request may or may not have had effect, unless ``before_sending`` is true. ``is_reset``: the peer ended the
    connection before it answered.
    """

    def __init__(self, message: str, *, before_sending: bool = False, is_reset: bool = False) -> None:
        super().__init__(message)
        self.before_sending = before_sending
        self.is_reset = is_reset


class Request(msgspec.Struct, frozen=True):
    """One HTTP request, without the server's address and the caller's credentials, which the transport adds."""

    method: str
    #: Not percent-encoded; starts with a slash.
    path: str
    #: Ordered; names and values are not percent-encoded.
    query: tuple[tuple[str, str], ...] = ()
    #: Lower-case names.
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: bytes | None = None

    @property
    def target(self) -> str:
        """Encoded path and query (request target of HTTP)."""
        path = quote(self.path, safe="/:@!$&'()*+,;=~-._")
        return f"{path}?{urlencode(self.query)}" if self.query else path


class Response(msgspec.Struct, frozen=True):
    """A whole response with any status code."""

    status: int
    #: Lower-case names; values of repeated headers are joined with ``, ``.
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """A response with a streamed body."""

    @property
    def status(self) -> int:
        """HTTP status code."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers, as in ``Response.headers``."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield chunks with arbitrary boundaries. Raises ``TransportError`` when the connection breaks."""


async def read_body(stream: Stream, *, bytes_max: int) -> bytes:
    """Return the body of a response. Raises ``TransportError`` for one that is larger, before all of it is read."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in stream:
        size += len(chunk)
        if size > bytes_max:
            raise TransportError(f"the response is larger than {bytes_max} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


class Transport(Protocol):
    """Sends requests to one server as one user. Status codes are not errors at this level."""

    @property
    def host(self) -> str:
        """Host of the server, for metrics and messages."""

    async def request(self, request: Request) -> Response:
        """Return the whole response. Raises ``TransportError``. Cancellation aborts the request."""

    def open(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Open a streamed response; entering waits for the headers, leaving closes the connection.

        Raises ``TransportError``.
        """

    async def close(self) -> None:
        """Close all connections. Idempotent."""
