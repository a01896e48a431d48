"""HTTP server for probes and scrapers: GET, one request per connection, bounded, with or without TLS.

A guard authenticates and authorizes each request before its page is looked up; ``delegated_access`` has one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

from steersman.asynckit.client_certificates import verified_chain
from steersman.asynckit.timeouts import Timeout

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from types import TracebackType

    from steersman.asynckit.clock import Clock

    RequestGuard = Callable[["Request"], Awaitable["Page | None"]]
    PageHandler = Callable[[Mapping[str, str]], Awaitable["Page"]]
    RequestHandler = Callable[["Request"], Awaitable["Page"]]

_log = logging.getLogger(__name__)

_HEAD_BYTES_MAX: Final = 8192
_BODY_BYTES_MAX: Final = 4096
_REQUEST_TIMEOUT_SECONDS: Final = 10.0
#: Concurrent connections; further ones are closed without a response.
CONNECTIONS_MAX: Final = 64

PLAIN: Final = "text/plain; charset=utf-8"
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    413: "Request Entity Too Large",
    500: "Internal Server Error",
}


class ListenError(OSError):
    """Listening on an address failed; the message is one line for users."""

    @classmethod
    def of(cls, address: str, error: OSError) -> Self:
        """Return the error for an address, ``127.0.0.1 port 10257``."""
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        return cls(f"cannot listen on {address}: {reason}")


class Page(NamedTuple):
    """HTTP response."""

    status: int
    body: bytes
    content_type: str = PLAIN


class Request(NamedTuple):
    """Request line and header fields."""

    method: str
    path: str
    #: Query parameters; the last of repeated ones.
    query: Mapping[str, str]
    #: Headers by lower-case name; the first of repeated ones.
    headers: Mapping[str, str]
    #: Verified client certificate, as ``SSLSocket.getpeercert`` returns it; None without one.
    client_certificate: Mapping[str, Any] | None = None
    #: True if the client presented a certificate that does not verify.
    is_certificate_invalid: bool = False
    #: All query parameters, in their order.
    parameters: Sequence[tuple[str, str]] = ()
    #: Body of a PUT.
    body: bytes = b""


class _Route(NamedTuple):
    page: RequestHandler
    timeout_seconds: float
    #: True if the page answers all methods, in place of GET and HEAD.
    has_any_method: bool = False


class HttpServer:
    """HTTP server of pages by path. A page receives the query parameters. Listens while entered."""

    def __init__(
        self,
        *,
        host: str = "",
        port: int = 0,
        socket_path: str = "",
        clock: Clock,
        tls: ssl.SSLContext | None = None,
        guard: RequestGuard | None = None,
        shares_port: bool = False,
    ) -> None:
        """Create a server; port 0 selects a free one, see ``port``.

        ``socket_path``: a Unix socket instead; ``@`` begins a name in Linux' abstract namespace. ``guard``
        returns None for a permitted request, otherwise the response. ``shares_port``: other processes may
        listen on the port as well (``SO_REUSEPORT``).
        """
        self._host = host
        self._port = port
        self._socket_path = socket_path
        self._clock = clock
        self._tls = tls
        self._guard = guard
        self._shares_port = shares_port
        self._routes: dict[str, _Route] = {}
        #: Pages of all other paths that begin with a key.
        self._prefixes: dict[str, _Route] = {}
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        #: One for each connection.
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, path: str, page: PageHandler, *, timeout_seconds: float = _REQUEST_TIMEOUT_SECONDS) -> None:
        """Serve ``page`` at ``path``; a page that takes longer than the timeout is cancelled, the connection closed."""

        async def handle(request: Request) -> Page:
            return await page(request.query)

        self._routes[path] = _Route(handle, timeout_seconds)

    def add_for_request(self, path: str, page: RequestHandler, *, has_any_method: bool = False) -> None:
        """Serve a page at ``path`` that depends on header fields, or on the method and the body."""
        self._routes[path] = _Route(page, _REQUEST_TIMEOUT_SECONDS, has_any_method)

    def add_prefix(self, prefix: str, page: RequestHandler) -> None:
        """Serve a page at all paths below ``prefix`` (which ends in ``/``) that have no other page."""
        self._prefixes[prefix] = _Route(page, _REQUEST_TIMEOUT_SECONDS)

    @property
    def paths(self) -> list[str]:
        """Return the paths of all pages, sorted."""
        return sorted(self._routes)

    @property
    def port(self) -> int:
        """Return the bound port."""
        if self._socket is None or self._socket_path:
            return self._port
        return int(self._socket.getsockname()[1])

    def bind(self) -> None:
        """Bind the address before the server is entered. Raises ``ListenError``."""
        if self._socket is not None:
            return
        if self._socket_path:
            self._socket = _bind_path(self._socket_path)
        else:
            self._socket = bind_port(self._host, self._port, shares_port=self._shares_port)

    def close(self) -> None:
        """Close the socket of a bound server that was not entered. Idempotent."""
        if self._socket is not None and self._server is None:
            self._socket.close()
            self._socket = None

    async def __aenter__(self) -> Self:
        self.bind()
        self._server = await self._listen()
        return self

    async def replace_tls(self, tls: ssl.SSLContext) -> None:
        """Use another context for new connections; open connections are unaffected."""
        self._tls = tls
        if self._server is not None:
            former, self._server = self._server, await self._listen()
            former.close()

    async def _listen(self) -> asyncio.Server:
        """Start accepting connections on a duplicate of the socket, because the asyncio server closes its socket."""
        assert self._socket is not None
        sock = self._socket.dup()
        if self._socket_path:
            return await asyncio.start_unix_server(self._connected, sock=sock, limit=_HEAD_BYTES_MAX)
        more: dict[str, Any] = {}
        if self._tls is not None:
            more = {"ssl": self._tls, "ssl_handshake_timeout": _REQUEST_TIMEOUT_SECONDS}
        return await asyncio.start_server(self._connected, sock=sock, limit=_HEAD_BYTES_MAX, **more)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)
            await self._server.wait_closed()
            self._server = None
            self.close()
            if self._socket_path and not self._socket_path.startswith("@"):
                with suppress(FileNotFoundError):
                    os.unlink(self._socket_path)  # noqa: PTH108 — as short as any system call of a shutdown

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.set_name("http: connection")
        self._tasks.add(task)
        try:
            if len(self._tasks) <= CONNECTIONS_MAX:
                await self._serve(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            _log.debug("a probe's connection broke: %s", error)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()  # unsent data is dropped

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with Timeout(_REQUEST_TIMEOUT_SECONDS, clock=self._clock):
            head = await reader.readuntil(b"\r\n\r\n")
        request = _parse(head.decode("latin-1"), writer.get_extra_info("ssl_object"))
        page = Page(400, b"bad request\n") if request is None else await self._answer(request, reader)
        reason = _REASONS.get(page.status, "")
        lines = (
            f"HTTP/1.1 {page.status} {reason}\r\ncontent-type: {page.content_type}\r\n"
            f"content-length: {len(page.body)}\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        has_body = request is None or request.method != "HEAD"
        async with Timeout(_REQUEST_TIMEOUT_SECONDS, clock=self._clock):
            writer.write(lines.encode() + (page.body if has_body else b""))
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    async def _answer(self, request: Request, reader: asyncio.StreamReader) -> Page:
        try:
            if self._guard is not None:
                rejection = await self._guard(request)
                if rejection is not None:
                    return rejection
            route = self._find(request.path)
            if route is None:
                return Page(404, b"404 page not found\n")
            if request.method not in ("GET", "HEAD") and not route.has_any_method:
                return Page(405, b"method not allowed\n")
            if request.method == "PUT":
                size = request.headers.get("content-length", "0")
                if not size.isascii() or not size.isdigit():
                    return Page(400, b"bad request\n")
                if len(size) > len(str(_BODY_BYTES_MAX)) or int(size) > _BODY_BYTES_MAX:
                    return Page(413, b"request body too large\n")
                async with Timeout(_REQUEST_TIMEOUT_SECONDS, clock=self._clock):
                    request = request._replace(body=await reader.readexactly(int(size)))
            async with Timeout(route.timeout_seconds, clock=self._clock):
                return await route.page(request)
        except (TimeoutError, asyncio.IncompleteReadError):
            raise
        except Exception:  # noqa: BLE001 — a page that fails is answered with 500
            _log.exception("the page %s failed", request.path)
            return Page(500, b"internal server error\n")

    def _find(self, path: str) -> _Route | None:
        route = self._routes.get(path)
        if route is None:
            route = next((page for prefix, page in self._prefixes.items() if path.startswith(prefix)), None)
        return route


def _parse(head: str, tls: Any) -> Request | None:
    """Return the request of a head; None if it is malformed. ``tls``: the connection's ``SSLObject``, if any."""
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3:
        return None
    method, target, _ = parts
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            return None
        headers.setdefault(name.lower(), value.strip())
    try:
        url = urlsplit(target)
    except ValueError:
        return None
    parameters = parse_qsl(url.query, keep_blank_values=True)
    certificate, is_invalid = _client_certificate(tls) if tls is not None else (None, False)
    return Request(method, url.path, dict(parameters), headers, certificate, is_invalid, parameters)


def _client_certificate(tls: Any) -> tuple[Mapping[str, Any] | None, bool]:
    """Return the verified certificate of a connection, if any, and whether it presented one that does not verify."""
    if not verified_chain(tls):
        return None, tls.getpeercert(binary_form=True) is not None
    return tls.getpeercert() or None, False


def bind_port(host: str, port: int, *, shares_port: bool = False) -> socket.socket:
    """Return a socket that listens on a port of an address, or of all addresses if ``host`` is empty or ``::``.

    Raises ``ListenError``.
    """
    is_any = host in ("", "::") and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(
            ("::" if is_any else host, port),
            family=socket.AF_INET6 if is_any or ":" in host else socket.AF_INET,
            reuse_port=shares_port,
            dualstack_ipv6=is_any,
        )
    except OSError as error:
        raise ListenError.of(f"{host or '*'} port {port}", error) from error


def _bind_path(path: str) -> socket.socket:
    """Return a socket bound to ``path``; bound explicitly, because uvloop does not support abstract names.

    Raises ``ListenError``.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(f"\0{path[1:]}" if path.startswith("@") else path)
    except OSError as error:
        sock.close()
        raise ListenError.of(path, error) from error
    return sock
