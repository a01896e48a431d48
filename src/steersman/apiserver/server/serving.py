"""Listening: uvicorn's protocol on our own sockets, TLS and way to stop. No signals, no lifespan, no polling."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from email.utils import formatdate
from typing import TYPE_CHECKING, Final

import msgspec
from uvicorn.config import Config
from uvicorn.server import ServerState

from steersman.apiserver.server.protocol import Protocol, new_protocol

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.apiserver.server.app import Application
    from steersman.asynckit.clock import Clock, Timer

_log = logging.getLogger(__name__)

_BACKLOG: Final = 2048
#: Idle keep-alive connections are closed after this long, as kube-apiserver does.
_KEEP_ALIVE_SECONDS: Final = 90
_HANDSHAKE_SECONDS: Final = 10.0
_TLS_SHUTDOWN_SECONDS: Final = 2.0
#: ``X509_V_FLAG_NO_CHECK_TIME`` of OpenSSL's x509_vfy.h, which ``ssl.VerifyFlags`` does not name.
_NO_CHECK_TIME: Final = 0x200000


class TLSFileError(ValueError):
    """A certificate or key cannot be used; the text names the file."""


class TLSFiles(msgspec.Struct, frozen=True):
    """Where the certificate, its key and the CAs of client certificates lie."""

    certificate: Path
    key: Path
    client_cas: tuple[Path, ...] = ()
    #: Oldest version of TLS that is accepted.
    minimum_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2


def tls_context(files: TLSFiles) -> ssl.SSLContext:
    """Return a context for TLS of the minimum version or newer, HTTP/1.1 and optional client certificates.

    The time of a client's certificate is left to the authenticator. A resumed session would not tell the chain that has
    to be valid, so no tickets are issued. Raises ``TLSFileError``.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = files.minimum_version
    load_cert_chain(context, files.certificate, files.key)
    # Only what is served is offered: clients that find h2 here would speak it.
    context.set_alpn_protocols(["http/1.1"])
    context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    for ca in files.client_cas:
        context.verify_mode = ssl.CERT_OPTIONAL
        _load_ca(context, ca)
    return context


def load_cert_chain(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Load a certificate and its key into a context. Raises ``TLSFileError``."""
    for path in (certificate, key):
        _check_readable(path)
    try:
        context.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error.strerror or error
        raise TLSFileError(f"cannot use the certificate {certificate} with the key {key}: {reason}") from error


def _load_ca(context: ssl.SSLContext, path: Path) -> None:
    _check_readable(path)
    try:
        context.load_verify_locations(path)
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error.strerror or error
        raise TLSFileError(f"cannot read a CA of client certificates from {path}: {reason}") from error


def _check_readable(path: Path) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise TLSFileError(f"cannot read {path}: {error.strerror or error}") from error


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
    """A running server. ``start`` it once, ``stop`` it once."""

    def __init__(self, app: Application, *, clock: Clock) -> None:
        self._clock = clock
        self._config = Config(
            app,
            loop="none",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )
        self._config.load()
        self._state = ServerState()
        self._server: asyncio.Server | None = None
        self._date_timer: Timer | None = None

    @property
    def connections(self) -> frozenset[Protocol]:
        """Those open now."""
        return frozenset(self._state.connections)  # type: ignore[arg-type]  # all of them are ours

    async def start(self, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Accept connections from now on."""
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # what bad clients send is no news
        self._tick()
        self._server = await asyncio.get_running_loop().create_server(
            lambda: new_protocol(self._config, self._state),
            sock=sock,
            ssl=tls,
            backlog=_BACKLOG,
            ssl_handshake_timeout=_HANDSHAKE_SECONDS if tls else None,
            ssl_shutdown_timeout=_TLS_SHUTDOWN_SECONDS if tls else None,
        )

    async def stop(self, *, grace_seconds: float) -> None:
        """Take no more connections, finish what runs for up to ``grace_seconds``, close the rest.

        End watches first (``Application.end_watches``), or they are what it waits for.
        """
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        tasks = list(self._state.tasks)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_seconds)
            if late:
                _log.warning("%d requests were cut off", len(late))
            for task in late:
                task.cancel()
        for connection in list(self._state.connections):
            connection.transport.abort()
        if self._date_timer is not None:
            self._date_timer.cancel()
        self._server = None

    def _tick(self) -> None:
        """The Date header, made once a second and not once a request."""
        date = formatdate(self._clock.now().timestamp(), usegmt=True).encode()
        # Requests keep the list that they began with, so it is replaced and not changed.
        self._state.default_headers = [(b"date", date)]
        self._date_timer = self._clock.timer(1.0, self._tick)
