"""State shared by the connections of one server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from steersman.apiserver.server.http1.handshakes import Handshakes

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, MutableMapping

    from steersman.apiserver.server.http1.flow import Flow
    from steersman.apiserver.server.http1.limits import Timeouts
    from steersman.asynckit.clock import Clock

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Message, Receive, Send], Awaitable[None]]


class Connection(Protocol):
    """Open connection, of any version of HTTP."""

    transport: asyncio.Transport
    flow: Flow

    @property
    def has_unsent(self) -> bool:
        """True while a response that is complete has not been written."""

    def shut_down(self) -> None:
        """Close the connection after the responses in progress, or at once without one."""

    async def closed(self) -> None:
        """Return when the connection is lost. For one caller."""


class ServerState:
    """Application, clock and timeouts of a server, with its open connections and running requests."""

    __slots__ = ("app", "clock", "connections", "date_line", "handshakes", "is_draining", "tasks", "timeouts")

    def __init__(self, app: App, clock: Clock, timeouts: Timeouts, handshakes: Handshakes | None = None) -> None:
        self.app = app
        self.clock = clock
        self.timeouts = timeouts
        self.handshakes = handshakes or Handshakes(clock)
        self.connections: set[Connection] = set()
        #: One task for each request whose application runs.
        self.tasks: set[asyncio.Task[None]] = set()
        #: The Date header with the end of its line; replaced once a second.
        self.date_line = b""
        #: True during shutdown: no further request is served.
        self.is_draining = False
