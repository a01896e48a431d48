"""HTTP/1.1 client connection of one webhook, and the bounded pool of such connections."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import httptools

from steersman.asynckit.timeouts import Timeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steersman.asynckit.clock import Clock, Timer

#: Connections to one webhook. Further calls wait for a free one, within their own timeouts.
CONNECTIONS_MAX: Final = 100
#: Idle connections that are kept, and for how long; as in client-go's transport.
IDLE_MAX: Final = 25
IDLE_SECONDS: Final = 90.0
_HEAD_BYTES_MAX: Final = 64 * 1024


class ExchangeError(Exception):
    """The call has no answer; the text is in Go's words."""


class StaleConnectionError(ExchangeError):
    """A reused connection was closed before the first byte of the answer: the call can be repeated on a new one."""


class Answer(NamedTuple):
    """Complete response."""

    status: int
    content_type: str
    body: bytes


class Connection:
    """One connection; it carries one exchange at a time.

    Protocol with the methods of ``asyncio.Protocol``: a subclass could not be compiled to a native class (decision 0006).
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Answer] | None = None
        self._pieces: list[bytes] = []
        self._size = self._head_size = self._body_bytes_max = 0
        self._content_type = ""
        self._has_data = self._has_length = self._is_head_complete = False
        self._uses = 0
        self.idle_since = 0.0
        self.is_open = False

    # -- asyncio.Protocol ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Become usable."""
        # uvloop's TLS transport does not extend ``asyncio.Transport``.
        self._transport, self.is_open = cast("asyncio.Transport", transport), True

    def data_received(self, data: bytes) -> None:
        """Parse a part of the response."""
        if self._answer is None or self._answer.done():  # data that no request asked for
            self.abort()
            return
        self._has_data = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(ExchangeError("unexpected protocol switch"))
        except httptools.HttpParserError as error:
            self._fail(
                ExchangeError(f"net/http: HTTP/1.x transport connection broken: malformed HTTP response: {error}")
            )

    def eof_received(self) -> None:
        """Close; a response without a length ends here."""

    def pause_writing(self) -> None:
        """Ignore that the transport's buffer is full: it holds one request at most."""

    def resume_writing(self) -> None:
        """Ignore that the transport's buffer is empty."""

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the exchange that is under way."""
        self.is_open = False
        if self._answer is None or self._answer.done():
            return
        if not self._has_data:
            kind = StaleConnectionError if self._uses > 1 else ExchangeError
            text = "read: connection reset by peer" if isinstance(error, ConnectionResetError) else "EOF"
            self._answer.set_exception(kind(text))
        elif self._ends_at_close():
            self._complete()
        else:
            self._answer.set_exception(ExchangeError("unexpected EOF"))

    # -- parser --------------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Reset the state of the previous response."""
        self._pieces, self._size, self._head_size = [], 0, 0
        self._content_type, self._has_length, self._is_head_complete = "", False, False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note the content type."""
        name = name.lower()
        self._head_size += len(name) + len(value)
        if self._head_size > _HEAD_BYTES_MAX:
            self._fail(ExchangeError("net/http: server response headers exceeded the limit"))
        if name == b"content-type":
            self._content_type = value.decode("latin-1")
        elif name in (b"content-length", b"transfer-encoding"):
            self._has_length = True

    def on_headers_complete(self) -> None:
        """Mark the end of the head."""
        self._is_head_complete = True

    def on_body(self, body: bytes) -> None:
        """Collect the body up to its bound."""
        self._size += len(body)
        if self._size > self._body_bytes_max:
            self._fail(ExchangeError(f"response body exceeds {self._body_bytes_max} bytes"))
            return
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Complete the exchange; an interim response (1xx) does not."""
        if self._parser.get_status_code() >= 200:
            self._complete()

    # -- exchange ------------------------------------------------------------------------------------------------------

    def send(self, request: bytes, *, body_bytes_max: int) -> asyncio.Future[Answer]:
        """Send a request and return the future of its response, which fails with ``ExchangeError``.

        The caller ends the exchange with ``finish`` or ``abort``.
        """
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        transport = self._transport
        if transport is None or not self.is_open:
            answer.set_exception(StaleConnectionError("EOF"))
            return answer
        self._uses += 1
        self._has_data, self._body_bytes_max = False, body_bytes_max
        self.on_message_begin()
        self._answer = answer
        transport.write(request)
        return answer

    def expire(self) -> None:
        """Fail the exchange that is under way with ``TimeoutError``."""
        self._fail(TimeoutError())

    def finish(self) -> None:
        """End an exchange that has its response."""
        self._answer = None

    def abort(self) -> None:
        """Close the connection at once."""
        self.is_open = False
        self._answer = None
        if self._transport is not None:
            self._transport.abort()

    def peer_certificate(self) -> dict[str, object]:
        """Return the verified certificate of the server."""
        assert self._transport is not None
        return self._transport.get_extra_info("peercert") or {}

    def _ends_at_close(self) -> bool:
        return self._is_head_complete and not self._has_length

    def _complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            body = b"".join(self._pieces)
            self._answer.set_result(Answer(self._parser.get_status_code(), self._content_type, body))
        if not self._parser.should_keep_alive():
            self.is_open = False

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self.abort()


class Pool:
    """Connections to one webhook: reused, and bounded in number.

    ``dial`` opens a connection; it raises ``ExchangeError``. One timer serves the timeouts of all exchanges, most of which
    end long before: it runs until the earliest deadline among those under way when it was set.
    """

    def __init__(
        self, dial: Callable[[], Awaitable[Connection]], *, clock: Clock, connections_max: int = CONNECTIONS_MAX
    ) -> None:
        self._dial: Final = dial
        self._clock: Final = clock
        self._connections_max: Final = connections_max
        #: The most recently used connection is last.
        self._idle: Final[deque[Connection]] = deque()
        self._waiters: Final[deque[asyncio.Future[None]]] = deque()
        self._in_use = 0
        self._sweep: Timer | None = None
        #: Connections that carry an exchange, with its deadline.
        self._deadlines: Final[dict[Connection, float]] = {}
        self._expiry: Timer | None = None
        #: When ``_expiry`` fires.
        self._expires_at = 0.0

    @property
    def in_use(self) -> int:
        """Number of exchanges under way."""
        return self._in_use

    async def exchange(self, request: bytes, *, timeout_seconds: float, body_bytes_max: int) -> Answer:
        """Send a request over a free connection. Raises ``ExchangeError``, and ``TimeoutError`` after ``timeout_seconds``."""
        deadline = self._clock.monotonic() + timeout_seconds
        if self._in_use < self._connections_max and not self._waiters:
            self._in_use += 1
        else:
            async with Timeout(timeout_seconds, clock=self._clock):
                await self._wait_for_release()
        try:
            connection = self._pop_idle()
            if connection is not None:
                try:
                    return await self._send(connection, request, deadline, body_bytes_max)
                except StaleConnectionError:
                    pass
            async with Timeout(deadline - self._clock.monotonic(), clock=self._clock):
                connection = await self._dial()
            return await self._send(connection, request, deadline, body_bytes_max)
        finally:
            self._release()

    async def _send(self, connection: Connection, request: bytes, deadline: float, body_bytes_max: int) -> Answer:
        self._deadlines[connection] = deadline
        if self._expiry is None or deadline < self._expires_at:
            self._set_expiry(deadline)
        try:
            answer = await connection.send(request, body_bytes_max=body_bytes_max)
        except BaseException:
            connection.abort()
            raise
        finally:
            del self._deadlines[connection]
        connection.finish()
        self._keep(connection)
        return answer

    def _set_expiry(self, deadline: float) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        self._expires_at = deadline
        self._expiry = self._clock.timer(deadline - self._clock.monotonic(), self._expire)

    def _expire(self) -> None:
        """Fail the exchanges whose deadline has passed."""
        self._expiry = None
        now = self._clock.monotonic()
        for connection, deadline in self._deadlines.items():
            if deadline <= now:
                connection.expire()
        pending = [deadline for deadline in self._deadlines.values() if deadline > now]
        if pending:
            self._set_expiry(min(pending))

    def _keep(self, connection: Connection) -> None:
        """Keep a connection for the next exchange."""
        if connection.is_open and len(self._idle) < IDLE_MAX:
            connection.idle_since = self._clock.monotonic()
            self._idle.append(connection)
            if self._sweep is None:
                self._sweep = self._clock.timer(IDLE_SECONDS, self._close_expired)
        else:
            connection.abort()

    def _pop_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return None

    async def _wait_for_release(self) -> None:
        """Wait until fewer than the maximum number of exchanges are under way; in order of arrival."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter  # ``_release`` hands its place over
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            if waiter.done() and not waiter.cancelled():
                self._release()
            raise

    def _release(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._in_use -= 1

    def _close_expired(self) -> None:
        self._sweep = None
        oldest = self._clock.monotonic() - IDLE_SECONDS
        while self._idle and (self._idle[0].idle_since <= oldest or not self._idle[0].is_open):
            self._idle.popleft().abort()
        if self._idle:
            self._sweep = self._clock.timer(IDLE_SECONDS, self._close_expired)

    def close(self) -> None:
        """Close the idle connections. Exchanges under way end by themselves."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        if self._expiry is not None and not self._deadlines:
            self._expiry.cancel()
            self._expiry = None
        while self._idle:
            self._idle.pop().abort()
