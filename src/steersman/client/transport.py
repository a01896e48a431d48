"""What the client needs of HTTP, and no more: a request goes out, a whole answer or a stream of pieces comes back.

Bodies: ``aiohttp_transport`` speaks to a server over TCP, ``controlplane.loopback_transport`` calls the API server in
this process. A test scripts one in a few lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, urlencode

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from contextlib import AbstractAsyncContextManager


class TransportError(Exception):
    """The request was not answered: no connection, a broken one, or none of its answer in time.

    The request may or may not have had effect, unless ``before_sending`` says that it cannot.
    """

    def __init__(self, message: str, *, before_sending: bool = False) -> None:
        super().__init__(message)
        self.before_sending = before_sending


class Request(msgspec.Struct, frozen=True):
    """One HTTP request, without the server's address and the caller's credentials, which are the transport's."""

    method: str
    #: Not encoded; begins with a slash.
    path: str
    #: In this order; neither names nor values are encoded.
    query: tuple[tuple[str, str], ...] = ()
    #: Names in lower case.
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: bytes | None = None

    @property
    def target(self) -> str:
        """Path and query as they go over the wire."""
        path = quote(self.path, safe="/:@!$&'()*+,;=~-._")
        return f"{path}?{urlencode(self.query)}" if self.query else path


class Answer(msgspec.Struct, frozen=True):
    """A whole answer, of whatever status."""

    status: int
    #: Names in lower case; of a repeated header all values, joined as HTTP joins them.
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """An answer whose body comes piece by piece."""

    @property
    def status(self) -> int:
        """The HTTP status code."""

    @property
    def headers(self) -> Mapping[str, str]:
        """As ``Answer.headers``."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Pieces as they come, cut anywhere. Raises ``TransportError`` when the connection breaks in the middle."""


class Transport(Protocol):
    """Sends requests to one server, as one user. Status codes are no errors here."""

    @property
    def host(self) -> str:
        """Of the server, for metrics and messages."""

    async def request(self, request: Request) -> Answer:
        """The whole answer. Raises ``TransportError``. Cancelling it gives the request up."""

    def open(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Begin a request; entered when status and headers are there. Leaving hangs up. Raises ``TransportError``."""

    async def close(self) -> None:
        """Give up the connections. Idempotent."""
