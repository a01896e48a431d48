"""A tiny HTTP server for probes and scrapers: GET only, one request a connection, bounded in every way."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

from steersman.asynckit.timeouts import Timeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType

    from steersman.asynckit.clock import Clock

_log = logging.getLogger(__name__)

_HEAD_BYTES_MAX: Final = 8192
_REQUEST_TIMEOUT_SECONDS: Final = 10.0
#: Connections that are served at once; more are closed unheard.
CONNECTIONS_MAX: Final = 64

PLAIN: Final = "text/plain; charset=utf-8"
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
}


class Page(NamedTuple):
    """An answer."""

    status: int
    body: bytes
    content_type: str = PLAIN


class HttpServer:
    """Serves pages by exact path, each given the query's parameters. Listens while entered."""

    def __init__(self, *, host: str = "", port: int = 0, socket_path: str = "", clock: Clock) -> None:
        """Port 0: any that is free, see ``port``.

        ``socket_path``: a Unix socket instead; ``@`` begins a name in Linux' abstract namespace.
        """
        self._host = host
        self._port = port
        self._socket_path = socket_path
        self._clock = clock
        self._pages: dict[str, Callable[[Mapping[str, str]], Awaitable[Page]]] = {}
        self._server: asyncio.Server | None = None
        #: One for each connection.
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, path: str, page: Callable[[Mapping[str, str]], Awaitable[Page]]) -> None:
        """Serve ``page`` at ``path``."""
        self._pages[path] = page

    @property
    def port(self) -> int:
        """Where it listens."""
        if self._server is None or self._socket_path:
            return self._port
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        if self._socket_path:
            self._server = await asyncio.start_unix_server(
                self._connected, sock=_bound(self._socket_path), limit=_HEAD_BYTES_MAX
            )
        else:
            self._server = await asyncio.start_server(self._connected, self._host, self._port, limit=_HEAD_BYTES_MAX)
        return self

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
                async with Timeout(_REQUEST_TIMEOUT_SECONDS, clock=self._clock):
                    await self._serve(reader, writer)
                    writer.close()
                    await writer.wait_closed()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            _log.debug("a probe's connection broke: %s", error)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()  # what somebody has not read by now is not waited for

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        page, with_body = await self._answer(head.split(b"\r\n", 1)[0].decode("latin-1"))
        reason = _REASONS.get(page.status, "")
        lines = (
            f"HTTP/1.1 {page.status} {reason}\r\ncontent-type: {page.content_type}\r\n"
            f"content-length: {len(page.body)}\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        writer.write(lines.encode() + (page.body if with_body else b""))
        await writer.drain()

    async def _answer(self, request_line: str) -> tuple[Page, bool]:
        parts = request_line.split(" ")
        if len(parts) != 3:
            return Page(400, b"bad request\n"), True
        method, target, _ = parts
        if method not in ("GET", "HEAD"):
            return Page(405, b"method not allowed\n"), True
        url = urlsplit(target)
        page = self._pages.get(url.path)
        if page is None:
            return Page(404, b"404 page not found\n"), method == "GET"
        try:
            found = await page(dict(parse_qsl(url.query, keep_blank_values=True)))
        except Exception:  # noqa: BLE001 — the page's fault is its answer
            _log.exception("the page %s failed", url.path)
            found = Page(500, b"internal server error\n")
        return found, method == "GET"


def _bound(path: str) -> socket.socket:
    """Return a socket bound to ``path``; bound by hand, as uvloop takes no abstract names."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(f"\0{path[1:]}" if path.startswith("@") else path)
    except BaseException:
        sock.close()
        raise
    return sock
