"""Listening sockets, the server, and graceful shutdown. Signals are handled by the commands."""

from __future__ import annotations

import asyncio
import logging
import socket
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final, cast

from steersman.apiserver.server.http1.connection import ServerConnection
from steersman.apiserver.server.http1.handshakes import HANDSHAKE_SECONDS
from steersman.apiserver.server.http1.limits import Timeouts
from steersman.apiserver.server.http1.state import ServerState

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from steersman.apiserver.server.http1.handshakes import Handshakes
    from steersman.apiserver.server.http1.state import App, Connection
    from steersman.asynckit.clock import Clock, Timer

_log = logging.getLogger(__name__)

_BACKLOG: Final = 2048
_TLS_SHUTDOWN_SECONDS: Final = 2.0


def listen(host: str, port: int, *, shares_port: bool = False) -> socket.socket:
    """Return a listening socket (port 0: any free one); ``shares_port`` lets other processes listen on the port, too.

    Connections inherit its keep-alive, so vanished clients are noticed.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if shares_port:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        for option, seconds in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 9)):
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)
        sock.bind((host, port))
        sock.listen(_BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


class Serving:
    """A server of one application. ``start`` it once, ``stop`` it once."""

    def __init__(
        self,
        app: App,
        *,
        clock: Clock,
        timeouts: Timeouts | None = None,
        on_connect: Callable[[], None] | None = None,
        handshakes: Handshakes | None = None,
        new_connection: Callable[[ServerState], Any] = ServerConnection,
    ) -> None:
        """``on_connect`` is called for each connection, before the TLS handshake. ``handshakes`` counts those that fail.
        ``new_connection`` returns the protocol of a connection (HTTP/2: ``http2.negotiation``).
        """
        self._clock = clock
        self._on_connect = on_connect
        self._new_protocol = new_connection
        self._state = ServerState(app, clock, timeouts or Timeouts(), handshakes)
        self._server: asyncio.Server | None = None
        self._date_timer: Timer | None = None

    @property
    def connections(self) -> frozenset[Connection]:
        """Open connections, without those that were handed over."""
        return frozenset(self._state.connections)

    async def start(self, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Accept connections from now on."""
        self._set_date()
        self._server = await asyncio.get_running_loop().create_server(
            self._new_connection,
            sock=sock,
            ssl=tls,
            backlog=_BACKLOG,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if tls else None,
            ssl_shutdown_timeout=_TLS_SHUTDOWN_SECONDS if tls else None,
        )

    async def drain(self, *, grace_seconds: float) -> None:
        """Wait up to ``grace_seconds`` for the requests that run now; new ones are still served."""
        if self._state.tasks:
            await asyncio.wait(list(self._state.tasks), timeout=grace_seconds)

    async def stop(self, *, grace_seconds: float) -> None:
        """Accept no more connections, wait up to ``grace_seconds`` for the running requests, and close the rest.

        Responses that begin from now on have ``Connection: close``. End watches first (``Application.end_watches``): they
        are requests that run.
        """
        if self._server is None:
            return
        state = self._state
        state.is_draining = True
        self._server.close()
        for connection in list(state.connections):
            connection.shut_down()
        end = self._clock.monotonic() + grace_seconds
        if state.tasks:
            _, late = await asyncio.wait(state.tasks, timeout=grace_seconds)
            if late:
                _log.warning("%d requests were cut off", len(late))
            for task in late:
                task.cancel()
        unsent = [asyncio.ensure_future(c.closed()) for c in state.connections if c.has_unsent]
        if unsent:
            await asyncio.wait(unsent, timeout=max(0.0, end - self._clock.monotonic()))
            for waiting in unsent:
                waiting.cancel()
        for connection in list(state.connections):
            connection.transport.abort()
        if self._date_timer is not None:
            self._date_timer.cancel()
        self._server = None

    def _new_connection(self) -> asyncio.Protocol:
        if self._on_connect is not None:
            self._on_connect()
        return cast("asyncio.Protocol", self._new_protocol(self._state))  # a protocol by its methods

    def _set_date(self) -> None:
        """Set the Date header: once a second, and not once a request."""
        date = formatdate(self._clock.now().timestamp(), usegmt=True)
        self._state.date_line = f"date: {date}\r\n".encode()
        self._date_timer = self._clock.timer(1.0, self._set_date)
