"""HTTP exchange as the API server sees it: ``Request``, ``Response``, ``Handler``. ASGI ends in ``server.app``.

A handler takes a ``Request`` and returns a ``Response``; a filter takes the next handler and returns a handler. Filters
that do nothing with the response are plain functions that return the next handler's awaitable, which saves a coroutine
per request. Streams are async iterators of byte pieces: each piece is sent before the next is requested, so a slow
reader delays only its own stream.
"""

from __future__ import annotations

import re
from asyncio import StreamReader, StreamWriter  # noqa: TC003 — compiled code looks at a tuple's types
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote_plus

from steersman.apimachinery.errors import bad_request, request_entity_too_large
from steersman.apiserver.request import LatencyTracker, WarningRecorder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping

    from steersman.apiserver.request import Annotations, RequestInfo, UserInfo

    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

#: Upstream: ``MaxRequestBodyBytes``.
BODY_BYTES_MAX = 3 * 1024 * 1024
_QUERY_FIELDS_MAX: Final = 1000
#: Texts of true. Upstream: Go's ``strconv.ParseBool``.
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
#: User agents of browsers and curl, whose responses are indented by default.
_PEOPLE: Final = ("curl", "Wget", "Mozilla/5.0")
_has_malformed_escape: Final = re.compile("%(?![0-9A-Fa-f]{2})").search


def parse_query(raw: bytes) -> dict[str, list[str]]:
    """Return the values of a query by name. Raises ``ValueError`` for too many fields.

    A field with a semicolon or a malformed percent-encoding is skipped; bytes that are not UTF-8 become replacement
    characters, as in Go's JSON. Upstream: Go's ``url.URL.Query``.
    """
    text = raw.decode(errors="replace")
    pairs = text.split("&")
    if len(pairs) > _QUERY_FIELDS_MAX:
        raise ValueError("Max number of fields exceeded")
    is_plain = "%" not in text and "+" not in text
    query: dict[str, list[str]] = {}
    for pair in pairs:
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        if not is_plain:
            if _has_malformed_escape(pair):
                continue
            name, value = unquote_plus(name), unquote_plus(value)
        query.setdefault(name, []).append(value)
    return query


class Request:
    """HTTP request, and what the filters have determined about it."""

    __slots__ = (
        "_body",
        "_query",
        "_receive",
        "annotations",
        "audit_id",
        "first_headers",
        "headers",
        "info",
        "latency",
        "method",
        "offers_cbor",
        "path",
        "raw_query",
        "scope",
        "user",
        "warnings",
    )

    #: Set by the filters ``request_info``, ``audit`` and ``authentication``.
    info: RequestInfo
    user: UserInfo
    audit_id: str

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        #: Percent-decoded.
        self.path: str = scope["path"]
        self.raw_query: bytes = scope["query_string"]
        #: Names in lower case; repeated headers in order.
        self.headers: list[tuple[bytes, bytes]] = scope["headers"]
        self.warnings: Final = WarningRecorder()
        self.latency: Final = LatencyTracker()
        #: The server reads and writes CBOR (feature gate ``CBORServingAndStorage``).
        self.offers_cbor = False
        #: Audit annotations; None if the request is not audited.
        self.annotations: Annotations | None = None
        self._receive = receive
        self._query: dict[str, list[str]] | None = None
        self._body: bytes | None = None
        #: First value of each header, by name.
        self.first_headers: dict[bytes, bytes] = dict(reversed(self.headers))

    def header(self, name: bytes) -> str:
        """Return the first header of this (lower-case) name, or an empty string."""
        value = self.first_headers.get(name)
        return "" if value is None else value.decode("latin-1")

    def header_all(self, name: bytes) -> list[str]:
        """Return all headers of this (lower-case) name."""
        return [value.decode("latin-1") for key, value in self.headers if key == name]

    @property
    def query(self) -> dict[str, list[str]]:
        """Return the query values by name. Raises a 400 StatusError for a query of too many fields."""
        if self._query is None:
            try:
                self._query = parse_query(self.raw_query)
            except ValueError as error:
                raise bad_request(f"invalid query: {error}") from None
        return self._query

    def param(self, name: str) -> str:
        """Return the first value of a query parameter, or an empty string."""
        values = self.query.get(name) if self.raw_query else None
        return values[0] if values else ""

    @property
    def wants_indentation(self) -> bool:
        """True if JSON in the response is indented: by ``pretty``, which defaults to true for browsers and curl.

        Upstream: ``isPrettyPrint``.
        """
        if self.raw_query and self.raw_query.find(b"pretty") >= 0 and (pretty := self.param("pretty")):
            return pretty in _TRUE
        return self.header(b"user-agent").startswith(_PEOPLE)

    @property
    def body_size(self) -> int:
        """Return the number of bytes of the body; 0 if it has not been read as a whole."""
        return 0 if self._body is None else len(self._body)

    async def body(self) -> bytes:
        """Return the whole body. Raises 413 above ``BODY_BYTES_MAX``, 400 if the client disconnects."""
        if self._body is None:
            length = self.header(b"content-length")
            if length.isdigit() and int(length) > BODY_BYTES_MAX:
                raise request_entity_too_large(f"limit is {BODY_BYTES_MAX}")
            message = await self._receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                whole: bytes = message.get("body", b"")
            else:
                whole = await self._body_in_pieces(message)
            if len(whole) > BODY_BYTES_MAX:
                raise request_entity_too_large(f"limit is {BODY_BYTES_MAX}")
            self._body = whole
        return self._body

    async def _body_in_pieces(self, message: MutableMapping[str, Any]) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            if message["type"] != "http.request":
                raise bad_request("the connection was closed before the body was complete")
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > BODY_BYTES_MAX:
                raise request_entity_too_large(f"limit is {BODY_BYTES_MAX}")
            if not message.get("more_body"):
                return b"".join(pieces)
            message = await self._receive()

    async def receive_piece(self) -> tuple[bytes, bool]:
        """Return the next piece of a body that is not read as a whole, and whether more follows.

        Raises 400 as ``body``.
        """
        if self._body is not None:
            return self._body, False
        message = await self._receive()
        if message["type"] != "http.request":
            raise bad_request("the connection was closed before the body was complete")
        piece: bytes = message.get("body", b"")
        return piece, bool(message.get("more_body"))

    async def disconnected(self) -> None:
        """Return when the client has disconnected, to end long-running responses early."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Tunnel(NamedTuple):
    """Backend side of an upgraded connection: bytes are copied both ways until one side closes."""

    reader: StreamReader
    writer: StreamWriter
    #: Bytes already read from it.
    rest: bytes = b""


class Response:
    """HTTP response with a complete body or a stream of pieces."""

    __slots__ = ("body", "code", "headers", "on_end", "stream", "tunnel")

    def __init__(
        self,
        code: int,
        body: bytes = b"",
        *,
        content_type: bytes = b"application/json",
        headers: list[tuple[bytes, bytes]] | None = None,
        stream: AsyncIterator[bytes] | None = None,
    ) -> None:
        self.code = code
        self.body = body
        self.stream = stream
        #: Called once at the end of the stream, successful or not.
        self.on_end: Callable[[], None] | None = None
        #: Backend connection of a 101 response.
        self.tunnel: Tunnel | None = None
        #: Empty: no Content-Type header.
        self.headers: list[tuple[bytes, bytes]] = [(b"content-type", content_type)] if content_type else []
        if headers:
            self.headers += headers


def page_not_found() -> Response:
    """Return the 404 of unknown non-API paths: plain text, not a Status."""
    return Response(404, b"404 page not found\n", content_type=b"text/plain; charset=utf-8")


if TYPE_CHECKING:
    Handler = Callable[[Request], Awaitable[Response]]
    Filter = Callable[[Handler], Handler]
