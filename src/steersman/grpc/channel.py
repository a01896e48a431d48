"""Channel to one server, which connects with the first call and reconnects after a loss.

* Calls wait for a pending connection. After a failed attempt calls fail immediately, with ``is_unsent``, until the next attempt
is due (``_BACKOFF``).
* A call fails with DEADLINE_EXCEEDED after its timeout in any state.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.asynckit.backoff import Backoff, BackoffPolicy
from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import Timeout
from steersman.grpc.connection import Connection
from steersman.grpc.errors import Code, RpcError
from steersman.grpc.headers import Method

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock, Timer
    from steersman.grpc.calls import StreamCall, UnaryCall

_BACKOFF: Final = BackoffPolicy(initial_seconds=0.1, max_seconds=1.0)
#: Value of ``user-agent``.
USER_AGENT: Final = "steersman"
#: Timeout of one attempt to connect, including the server's settings.
CONNECT_SECONDS: Final = 2.0


class Target(msgspec.Struct, frozen=True):
    """Address of a server: host and port, or the path of a unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def authority(self) -> str:
        """Value of ``:authority``; gRPC's for unix sockets."""
        if self.path:
            return "localhost"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Channel:
    """Channel to one server; see the module. Confined to one event loop."""

    def __init__(
        self,
        target: Target,
        *,
        clock: Clock,
        tls: Callable[[], ssl.SSLContext] | None = None,
        user_agent: str = USER_AGENT,
    ) -> None:
        """``tls`` returns a context that offers ``h2`` by ALPN, for each connection; None: no TLS."""
        self.target: Final = target
        self._clock = clock
        self._tls = tls
        self._user_agent = user_agent
        #: Headers by path and timeout.
        self._methods: dict[tuple[str, float], tuple[Method, _Deadlines]] = {}
        self._tasks = Supervisor("rpc channel")
        self._connection: Connection | None = None
        #: All connections, including those that finish their calls.
        self._connections: set[Connection] = set()
        self._connecting: asyncio.Future[None] | None = None
        self._backoff = Backoff(_BACKOFF)
        self._retry_at = 0.0
        self._refusal = ""
        self._is_closed = False

    # -- calls ---------------------------------------------------------------------------------------------------------

    async def unary(self, path: str, request: bytes, *, timeout_seconds: float) -> bytes:
        """Send a request and return the response. Raises ``RpcError``."""
        method, deadlines = self._methods.get((path, timeout_seconds)) or self._method(path, timeout_seconds)
        connection = self._connection
        if connection is None or not connection.has_slot:
            connection = await self._connected(timeout_seconds)
        call = connection.start_unary(method, request)
        deadlines.add(call, connection)
        try:
            return await call.response
        finally:
            deadlines.remove(call)
            connection.cancel(call)  # if this task was cancelled

    async def open_stream(
        self, path: str, request: bytes, *, timeout_seconds: float, metadata: tuple[tuple[str, str], ...] = ()
    ) -> StreamCall:
        """Open a stream with a first message; only the opening has a timeout. Raises ``RpcError``."""
        method, _ = self._methods.get((path, 0.0)) or self._method(path, 0.0, metadata)
        connection = self._connection
        if connection is None or not connection.has_slot:
            connection = await self._connected(timeout_seconds)
        return connection.start_stream(method, request)

    def _method(
        self, path: str, timeout_seconds: float, metadata: tuple[tuple[str, str], ...] = ()
    ) -> tuple[Method, _Deadlines]:
        limit = (("grpc-timeout", f"{round(timeout_seconds * 1000)}m"),) if timeout_seconds else ()
        scheme = "http" if self._tls is None else "https"
        agent = ("user-agent", self._user_agent)
        method = Method(path, scheme=scheme, authority=self.target.authority, extra=(agent, *limit, *metadata))
        prepared = method, _Deadlines(self._clock, timeout_seconds)
        self._methods[path, timeout_seconds] = prepared
        return prepared

    async def connect(self, *, timeout_seconds: float) -> None:
        """Wait until the channel is connected; failed attempts are repeated. Raises ``TimeoutError``."""
        async with Timeout(timeout_seconds, clock=self._clock):
            while self._connection is None:
                try:
                    await self._connect()
                except RpcError:
                    await self._clock.sleep(max(0.0, self._retry_at - self._clock.monotonic()))

    # -- the connection ------------------------------------------------------------------------------------------------

    async def _connected(self, timeout_seconds: float) -> Connection:
        """Return a connection that accepts a call. Raises ``RpcError``."""
        try:
            async with Timeout(timeout_seconds, clock=self._clock):
                while True:
                    connection = self._connection
                    if connection is None:
                        await self._connect()
                    elif connection.has_slot:
                        return connection
                    else:
                        await connection.slot()
        except TimeoutError as error:
            raise RpcError(
                Code.DEADLINE_EXCEEDED, f"no connection to {self.target.authority}", is_unsent=True
            ) from error

    async def _connect(self) -> None:
        """Join or start an attempt to connect. Raises ``RpcError``."""
        if self._is_closed:
            raise RpcError(Code.CANCELLED, "the channel is closed", is_unsent=True)
        if self._connecting is None:
            if self._clock.monotonic() < self._retry_at:
                raise self._refused()
            self._connecting = asyncio.get_running_loop().create_future()
            self._tasks.start("connect", self._attempt(self._connecting))
        await asyncio.shield(self._connecting)
        if self._connection is None:
            raise self._refused()

    def _refused(self) -> RpcError:
        text = f"failed to connect to {self.target.authority}: {self._refusal}"
        return RpcError(Code.UNAVAILABLE, text, is_unsent=True)

    async def _attempt(self, attempted: asyncio.Future[None]) -> None:
        """Connect; sets ``_connection`` or ``_refusal``."""
        connection = Connection(self._clock, self._ended)
        self._connections.add(connection)
        try:
            async with Timeout(CONNECT_SECONDS, clock=self._clock):
                await self._open(connection)
                await connection.ready
            self._connection = connection
            self._backoff.reset()
        except (OSError, RpcError, ValueError) as error:  # a TimeoutError is an OSError, errors of certificates both
            connection.close()
            self._refusal = str(error)
            self._retry_at = self._clock.monotonic() + self._backoff.next_seconds()
        finally:
            self._connecting = None
            if not attempted.done():
                attempted.set_result(None)

    async def _open(self, connection: Connection) -> None:
        loop, target = asyncio.get_running_loop(), self.target
        context = None if self._tls is None else self._tls()
        if target.path:
            name = None if context is None else "localhost"
            await loop.create_unix_connection(connection.factory, target.path, ssl=context, server_hostname=name)
        else:
            await loop.create_connection(connection.factory, target.host, target.port, ssl=context)

    def _ended(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None
        if connection.is_lost:
            self._connections.discard(connection)

    async def close(self) -> None:
        """Close the connection; calls in flight fail. Idempotent."""
        self._is_closed = True
        for _, deadlines in self._methods.values():
            deadlines.close()
        await self._tasks.close()
        connections = list(self._connections)
        for connection in connections:
            connection.close()
        for connection in connections:
            await connection.wait_closed()


class _Deadlines:
    """Deadlines of calls with the same timeout. They expire in the order of the calls, so one timer serves all."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        #: Deadlines and connections of the calls in flight, oldest first.
        self._calls: dict[UnaryCall, tuple[float, Connection]] = {}
        self._timer: Timer | None = None

    def add(self, call: UnaryCall, connection: Connection) -> None:
        """End ``call`` with DEADLINE_EXCEEDED after the timeout, unless it is removed before."""
        self._calls[call] = (self._clock.monotonic() + self._seconds, connection)
        if self._timer is None:
            self._timer = self._clock.timer(self._seconds, self._expire)

    def remove(self, call: UnaryCall) -> None:
        """Remove a call. Idempotent."""
        self._calls.pop(call, None)

    def _expire(self) -> None:
        self._timer = None
        while self._calls:
            call = next(iter(self._calls))
            deadline, connection = self._calls[call]
            remaining = deadline - self._clock.monotonic()
            if remaining > 0:
                self._timer = self._clock.timer(remaining, self._expire)
                return
            del self._calls[call]
            connection.cancel(call)
            call.finish(RpcError(Code.DEADLINE_EXCEEDED, "Deadline Exceeded"))

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
