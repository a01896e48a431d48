"""HTTP/1.1 client for kubelets, Pods and Services; each request uses a new or a pooled connection.

Responses are streamed as they arrive; upgraded connections are handed over.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Final

import httptools
import msgspec

from steersman.apimachinery.gotext import errno_text
from steersman.apiserver.proxying.kubelet import ADDRESS_TYPES
from steersman.apiserver.webhooks.tls import tls_error_text
from steersman.asynckit.timeouts import wait_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from steersman.apiserver.proxying.kubelet import Location
    from steersman.asynckit.clock import Clock

    Headers = list[tuple[bytes, bytes]]
    Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

#: As upstream's dialer.
_DIAL_SECONDS: Final = 30.0
_PIECE_BYTES: Final = 64 * 1024
#: Maximum size of a proxy's error response.
_REASON_BYTES_MAX: Final = 1024
#: Buffered bytes for a slow reader, above which the sender is paused.
_BUFFER_BYTES: Final = 256 * 1024
#: Maximum size of a response head.
_HEAD_BYTES_MAX: Final = 1 << 20
#: Hop-by-hop headers (RFC 9110, 7.6.1).
HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te", b"trailer",
     b"transfer-encoding", b"upgrade", b"proxy-connection")
)  # fmt: skip


class DialError(Exception):
    """No connection, or no valid HTTP response; the text is the reason."""


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """Outgoing request."""

    method: str
    #: Path and query.
    target: str
    headers: Headers = []
    body: bytes = b""
    #: Streamed body instead of ``body``; its length is in the headers, or it is chunked.
    stream: AsyncIterator[bytes] | None = None

    @property
    def is_chunked(self) -> bool:
        """Report whether the body is sent with ``Transfer-Encoding: chunked``."""
        return self.stream is not None and not any(name == b"content-length" for name, _ in self.headers)

    def head(self, authority: str) -> bytes:
        """Encode the request head."""
        lines = [f"{self.method} {self.target} HTTP/1.1".encode(), b"host: " + authority.encode()]
        lines += [name + b": " + value for name, value in self.headers]
        if self.is_chunked:
            lines.append(b"transfer-encoding: chunked")
        elif self.stream is None and (self.body or self.method in ("POST", "PUT", "PATCH")):
            lines.append(b"content-length: %d" % len(self.body))
        return b"\r\n".join(lines) + b"\r\n\r\n"


class Answer:
    """Response whose head is complete.

    The caller reads ``pieces`` to the end, takes over the connection, or calls ``close``.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, has_body: bool) -> None:
        self.reader: Final = reader
        self.writer: Final = writer
        self.code = 0
        self.headers: Headers = []
        #: Bytes after the head of an upgraded connection.
        self.rest = b""
        #: Receives the connection and whether it is reusable, instead of closing it.
        self.on_close: Callable[[bool], None] | None = None
        self._is_closed = False
        self._is_keep_alive = False
        #: True once the request is sent; the task that sends a streamed body.
        self.is_sent = True
        self.sending: asyncio.Task[None] | None = None
        self._has_body = has_body
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._head_is_whole = self._is_whole = False

    # Callbacks of the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header."""
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Complete the head, unless it is a 1xx response other than an upgrade."""
        self.code = self._parser.get_status_code()
        if self.code != 101 and self.code < 200:
            self.headers.clear()
            return
        self._head_is_whole = True
        self._is_keep_alive = self.code != 101 and self._parser.should_keep_alive()
        self._is_whole = not self._has_body

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Complete the message."""
        self._is_whole = self._head_is_whole

    # Methods of the server

    async def read_head(self) -> None:
        """Wait for the head. Raises ``DialError``."""
        size = 0
        while not self._head_is_whole:
            data = await self.reader.read(_PIECE_BYTES)
            size += len(data)
            if not data or size > _HEAD_BYTES_MAX:
                raise DialError("EOF" if not data else "the head of the answer is too long")
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            if self._is_whole:  # surplus data belongs to no request
                self._is_keep_alive = False
                return
            raise DialError(f"malformed HTTP response: {error}") from error

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. Raises ``DialError`` if it is cut off."""
        try:
            while True:
                for piece in self._pieces:
                    yield piece
                self._pieces.clear()
                if self._is_whole:
                    return
                data = await self.reader.read(_PIECE_BYTES)
                if not data:
                    if self._has_length():
                        raise DialError("unexpected EOF")
                    return
                self._feed(data)
        finally:
            self.close()

    def _has_length(self) -> bool:
        return any(name in (b"content-length", b"transfer-encoding") for name, _ in self.headers)

    async def text(self, size_max: int) -> bytes:
        """Read the body up to ``size_max`` bytes."""
        received: list[bytes] = []
        size = 0
        async for piece in self.pieces():
            received.append(piece[: size_max - size])
            size += len(received[-1])
            if size >= size_max:
                break
        self.close()
        return b"".join(received)

    def close(self) -> None:
        """Close the connection and drop unread data. Idempotent.

        A graceful TLS shutdown would wait for the peer.
        """
        if self._is_closed:
            return
        self._is_closed = True
        if self.sending is not None:
            self.sending.cancel()
        is_reusable = self._is_whole and self._is_keep_alive and self.is_sent
        if self.on_close is not None:
            self.on_close(is_reusable)
        else:
            self.writer.transport.abort()


class Connections:
    """Opens connections; those to kubelets use the server's client certificate."""

    def __init__(self, clock: Clock, *, address_types: Sequence[str] = ADDRESS_TYPES) -> None:
        self._clock = clock
        #: Address types of Nodes in order of preference.
        self.address_types: Final = tuple(address_types)
        #: TLS context with the kubelet client certificate; None: proxying is unavailable.
        self.kubelet_tls: ssl.SSLContext | None = None
        self._insecure: ssl.SSLContext | None = None

    @property
    def is_open(self) -> bool:
        """Report whether proxying is available."""
        return self.kubelet_tls is not None

    async def round_trip(self, location: Location, sent: Outgoing, *, as_kubelets_client: bool) -> Answer:
        """Send a request and wait for the head of the response. Raises ``DialError``."""
        tls = None
        if location.scheme == "https":
            tls = self.kubelet_tls if as_kubelets_client else self._without_identity()
        reader, writer = await self.dial(location, tls)
        return await exchange(reader, writer, sent, location.authority)

    async def dial(self, location: Location, tls: ssl.SSLContext | None, *, server_hostname: str = "") -> Streams:
        """Open a connection. ``server_hostname``: name to verify instead of the host. Raises ``DialError``."""
        port = int(location.port) if location.port.isdigit() else {"https": 443}.get(location.scheme, 80)
        target = msgspec.structs.replace(location, port=str(port)).authority
        name = server_hostname or location.host if tls is not None else None
        try:
            dialing = (
                asyncio.open_connection(location.host, port, ssl=tls, server_hostname=name, limit=_BUFFER_BYTES)
                if location.way is None
                else self._dial_through(location.way, target, tls, server_hostname=name)
            )
            return await wait_for(dialing, _DIAL_SECONDS, clock=self._clock)
        except TimeoutError:
            raise DialError(f"dial tcp {target}: i/o timeout") from None
        except socket.gaierror:
            raise DialError(f"dial tcp: lookup {location.host}: no such host") from None
        except ssl.SSLError as error:
            raise DialError(_reason(error)) from error
        except OSError as error:
            raise DialError(f"dial tcp {target}: {_reason(error)}") from error

    async def _dial_through(
        self, way: Location, target: str, tls: ssl.SSLContext | None, *, server_hostname: str | None
    ) -> Streams:
        """Open a connection through a proxy by CONNECT (RFC 9110, 9.3.6). Raises ``DialError``, ``OSError``."""
        answer = await self.round_trip(
            way, Outgoing(method="CONNECT", target=target), as_kubelets_client=way.is_kubelet
        )
        if answer.code != 200:
            reason = (await answer.text(_REASON_BYTES_MAX)).decode(errors="replace")
            raise DialError(f"dial tcp {target}: {reason}")
        if tls is not None:
            try:
                await answer.writer.start_tls(tls, server_hostname=server_hostname)
            except BaseException:
                answer.close()
                raise
        return answer.reader, answer.writer

    def _without_identity(self) -> ssl.SSLContext:
        if self._insecure is None:
            self._insecure = client_tls()
        return self._insecure


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: Outgoing, authority: str
) -> Answer:
    """Send a request on a connection and wait for the response head.

    Raises ``DialError`` and closes the connection then.
    """
    answer = Answer(reader, writer, has_body=sent.method != "HEAD")
    sending: asyncio.Task[None] | None = None
    try:
        writer.write(sent.head(authority) + sent.body)
        if sent.stream is not None:
            answer.is_sent = False
            sending = asyncio.create_task(_send_stream(answer, sent), name="request body to a backend")
            answer.sending = sending
            await _head_or_failure(answer, sending)
        else:
            await writer.drain()
            await answer.read_head()
    except OSError as error:
        answer.close()
        raise DialError(_reason(error)) from error
    except BaseException:
        answer.close()
        raise
    return answer


async def _head_or_failure(answer: Answer, sending: asyncio.Task[None]) -> None:
    """Wait for the head, which may precede the end of the body. Without a response, raise the send error."""
    reading = asyncio.create_task(answer.read_head(), name="answer of a backend")
    try:
        await asyncio.wait([reading, sending], return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and not reading.done() and (error := sending.exception()) is not None:
            raise error
        await reading
    finally:
        if not reading.done():
            reading.cancel()
            await asyncio.wait([reading])


async def _send_stream(answer: Answer, sent: Outgoing) -> None:
    assert sent.stream is not None
    writer, is_chunked = answer.writer, sent.is_chunked
    async for piece in sent.stream:
        if piece:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
            await writer.drain()
    if is_chunked:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    answer.is_sent = True


def client_tls() -> ssl.SSLContext:
    """Return a TLS context without verification, for Pods and kubelets with self-signed certificates (upstream's
    default).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the end-to-end headers: without hop-by-hop ones and those listed in ``Connection``."""
    listed = list(headers)
    named = {word.strip().lower() for name, value in listed if name == b"connection" for word in value.split(b",")}
    return [(name, value) for name, value in listed if name not in HOP_BY_HOP and name not in named]


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return tls_error_text(error)
    text = errno_text(error)
    return f"connect: {text}" if isinstance(error, ConnectionError) else text
