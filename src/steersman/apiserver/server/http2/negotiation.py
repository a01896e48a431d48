"""Protocol of a connection by ALPN, which is known after the TLS handshake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.server.http1.connection import ServerConnection
from steersman.apiserver.server.http2.connection import Http2Connection

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from steersman.apiserver.server.http1.state import ServerState

#: Protocols that are offered, the preferred one first. Upstream: ``tlsConfig`` of secure_serving.go.
ALPN_PROTOCOLS = ("h2", "http/1.1")


def negotiated(max_streams: int) -> Callable[[ServerState], Any]:
    """Return the factory of connections for ``Serving``."""
    return lambda server: NegotiatedConnection(server, max_streams)


class NegotiatedConnection:
    """Protocol until the end of the handshake, with the methods of ``asyncio.Protocol`` that are called up to then."""

    __slots__ = ("_handshake", "_max_streams", "_server")

    def __init__(self, server: ServerState, max_streams: int) -> None:
        self._server = server
        self._max_streams = max_streams
        self._handshake = server.handshakes.begin()

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Put the negotiated protocol in place of this one."""
        self._server.handshakes.complete(self._handshake)
        tls = transport.get_extra_info("ssl_object")
        connection: Any
        if tls is not None and tls.selected_alpn_protocol() == "h2":
            connection = Http2Connection(self._server, self._max_streams)
        else:
            connection = ServerConnection(self._server)
        transport.set_protocol(connection)
        connection.connection_made(transport)
