"""Load generator with little overhead: one asyncio protocol per connection, requests prepared as bytes."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast


@dataclass
class Target:
    """Server, credentials and connection options of requests."""

    host: str
    port: int
    ca_file: str
    #: Bearer token; empty: none.
    token: str
    #: PEM file with a client certificate and its key; None: the client has no certificate.
    certificate: Path | None = None
    #: CPU time of the server's event loop so far.
    loop_seconds: Callable[[], float] = lambda: 0.0

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_file)
        context.check_hostname = False
        if self.certificate is not None:
            context.load_cert_chain(self.certificate)
        return context

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> bytes:
        """Return one encoded request."""
        head = f"{method} {path} HTTP/1.1\r\nhost: bench\r\naccept: {accept}\r\n"
        if self.token:
            head += f"authorization: Bearer {self.token}\r\n"
        if body:
            head += f"content-type: {content_type}\r\ncontent-length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


#: Placeholder of the name in a template; benchmark objects do not contain it otherwise.
_NAME = "name-of-the-object"


class Template:
    """Prepared writes of objects that differ in one text, usually their name.

    A further request only joins the parts around the text; otherwise encoding would take as long as the server
    needs, on the core of the server's writer process.
    """

    def __init__(
        self,
        target: Target,
        path: str,
        make: Callable[[str], bytes],
        *,
        method: str = "POST",
        content_type: str = "application/json",
    ) -> None:
        body = make(_NAME)
        request = target.request(method, path, body, content_type)
        head, _, _ = request.rpartition(b"%d\r\n\r\n%b" % (len(body), body))
        #: Part of the head before the value of Content-Length.
        self._head = head
        self._pieces = body.split(_NAME.encode())
        self._names = len(self._pieces) - 1
        self._rest_bytes = len(body) - self._names * len(_NAME)

    def request(self, name: bytes) -> bytes:
        """Return the request of ``Target.request`` for the object of this name."""
        length = self._rest_bytes + self._names * len(name)
        return b"%b%d\r\n\r\n%b" % (self._head, length, name.join(self._pieces))


@dataclass
class Result:
    """Outcome of a load."""

    requests: int = 0
    received_bytes: int = 0
    seconds: float = 0.0
    errors: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    #: CPU time of the server's event loop; 0 if not measured.
    loop_seconds: float = 0.0

    def forget(self) -> None:
        """Reset all counts."""
        self.requests = self.received_bytes = 0
        self.errors, self.latencies = {}, []

    @property
    def loop_micros(self) -> float:
        """Return the event loop's CPU time per request, which other work on the machine hardly changes."""
        return self.loop_seconds / self.requests * 1e6

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def bytes_rate(self) -> float:
        return self.received_bytes / self.seconds


class _Connection(asyncio.Protocol):
    """Connection that sends the next request after each response, until none is left."""

    def __init__(self, result: Result, done: asyncio.Future[None]) -> None:
        self._make: Callable[[], bytes | None]
        self._result = result
        self._done = done
        #: The connection stays open after the last request.
        self._is_reused = False
        self._transport: asyncio.Transport
        self._buffer = bytearray()
        self._missing = -1  # bytes of the body still to come; -1: the head is not complete; -2: chunked
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's TLS transport implements the interface without being a subclass.
        transport = cast("asyncio.Transport", transport)
        self._transport = transport

    async def ask(self, request: bytes) -> None:
        """Send one request and return after its response."""
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        rest = iter((request,))

        def make() -> bytes | None:
            following = next(rest, None)
            if following is None:
                answered.set_result(None)
            return following

        self._make, self._is_reused = make, True
        self._next()
        await answered
        self._is_reused = False

    def start(self, make: Callable[[], bytes | None]) -> None:
        """Send the first request of ``make``, which returns None after the last one."""
        self._make = make
        self._next()

    def _next(self) -> None:
        request = self._make()
        if request is None:
            if self._is_reused:
                return
            self._transport.close()
            if not self._done.done():
                self._done.set_result(None)
            return
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._result.received_bytes += len(data)
        if self._missing >= 0:
            self._missing -= len(data)
            if self._missing == 0:
                self._answered()
            return
        if self._missing == -2:  # only the end matters, which may span two chunks
            self._buffer = bytearray(self._buffer[-8:] + data[-16:]) if len(data) < 16 else bytearray(data[-16:])
            if self._buffer.endswith(b"0\r\n\r\n"):
                self._answered()
            return
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        self._head(bytes(self._buffer[:end]).lower(), bytes(self._buffer[end + 4 :]))

    def _head(self, head: bytes, rest: bytes) -> None:
        status = int(head[9:12])
        if status >= 400:
            self._result.errors[status] = self._result.errors.get(status, 0) + 1
        at = head.find(b"content-length: ")
        if at < 0:
            self._missing = -2
            self._buffer = bytearray(rest[-16:])
            if rest.endswith(b"0\r\n\r\n"):
                self._answered()
            return
        self._missing = int(head[at + 16 :].split(b"\r\n", 1)[0]) - len(rest)
        if self._missing == 0:
            self._answered()

    def _answered(self) -> None:
        self._result.requests += 1
        self._result.latencies.append(time.perf_counter() - self._sent)
        self._missing = -1
        self._buffer = bytearray()
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("closed by the server"))


async def load(
    target: Target, make: Callable[[], bytes], *, connections: int = 16, seconds: float = 3.0, requests: int = 0
) -> Result:
    """Send requests over this many connections for a time, or a number of requests; connecting is not measured."""
    result = Result()
    context = target.context()
    ready = [await _connect(target, context, result) for _ in range(connections)]
    # In TLS 1.3 the server has not verified a client's certificate before it answers the first request.
    hello = target.request("GET", "/version")
    for connection, _ in ready:
        await connection.ask(hello)
    result.forget()
    start, loop_start = time.perf_counter(), target.loop_seconds()
    make_next = _bounded(make, stop_at=start + seconds, requests=requests)
    for connection, _ in ready:
        connection.start(make_next)
    await asyncio.gather(*(done for _, done in ready))
    result.seconds, result.loop_seconds = time.perf_counter() - start, target.loop_seconds() - loop_start
    return result


async def load_connecting(target: Target, request: bytes, *, clients: int = 4, seconds: float = 3.0) -> Result:
    """Send each request over a new connection with a full TLS handshake, ``clients`` at a time."""
    result = Result()
    start = time.perf_counter()

    async def client() -> None:
        while time.perf_counter() < start + seconds:
            # A new context for each connection would read the CA file again; without tickets no session is resumed.
            connection, done = await _connect(target, context, result)
            connection.start(_bounded(lambda: request, requests=1))
            await done

    context = target.context()
    await asyncio.gather(*(client() for _ in range(clients)))
    result.seconds = time.perf_counter() - start
    return result


async def _connect(target: Target, context: ssl.SSLContext, result: Result) -> tuple[_Connection, asyncio.Future[None]]:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    _, connection = await loop.create_connection(
        lambda: _Connection(result, done), target.host, target.port, ssl=context
    )
    return connection, done


def _bounded(
    make: Callable[[], bytes], *, stop_at: float = float("inf"), requests: int = 0
) -> Callable[[], bytes | None]:
    """Yield from ``make`` until ``requests`` were sent or the time is over, then return None."""
    sent = 0

    def make_next() -> bytes | None:
        nonlocal sent
        if (requests and sent >= requests) or (not requests and time.perf_counter() >= stop_at):
            return None
        sent += 1
        return make()

    return make_next


def percentile(values: list[float], share: float) -> float:
    """Return the value below which ``share`` of all values are."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
