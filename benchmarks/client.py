"""A load generator that costs little: one asyncio protocol per connection, requests prepared as bytes."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast


@dataclass
class Target:
    """Where to send requests to."""

    host: str
    port: int
    ca_file: str
    token: str

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_file)
        context.check_hostname = False
        return context

    def request(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        """One request as it goes over the wire."""
        head = f"{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {self.token}\r\naccept: application/json\r\n"
        if body:
            head += f"content-type: {content_type}\r\ncontent-length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


#: Stands for the name while a template is made; no benchmark's object holds it otherwise.
_NAME = "name-of-the-object"


class Template:
    """POSTs of objects that differ in their names alone, prepared once: what one more costs is to join its pieces.

    Else the load generator would take as long as the server for what it encodes, on the core that the server's writer needs.
    """

    def __init__(self, target: Target, path: str, make: Callable[[str], bytes]) -> None:
        body = make(_NAME)
        head, _, _ = target.request("POST", path, body).rpartition(b"%d\r\n\r\n%b" % (len(body), body))
        #: Up to the number that content-length has.
        self._head = head
        self._pieces = body.split(_NAME.encode())
        self._names = len(self._pieces) - 1
        self._rest_bytes = len(body) - self._names * len(_NAME)

    def request(self, name: bytes) -> bytes:
        """The request that ``Target.request`` would make of the object of this name."""
        length = self._rest_bytes + self._names * len(name)
        return b"%b%d\r\n\r\n%b" % (self._head, length, name.join(self._pieces))


@dataclass
class Result:
    """What a run of a load gave."""

    requests: int = 0
    received_bytes: int = 0
    seconds: float = 0.0
    errors: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    @property
    def bytes_rate(self) -> float:
        return self.received_bytes / self.seconds


class _Connection(asyncio.Protocol):
    """Sends the next request as soon as the last one is answered, until told to stop."""

    def __init__(self, make: Callable[[], bytes | None], result: Result, done: asyncio.Future[None]) -> None:
        self._make = make
        self._result = result
        self._done = done
        self._transport: asyncio.Transport
        self._buffer = bytearray()
        self._missing = -1  # bytes of the body still to come; -1: the head is not complete; -2: chunked
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's TLS transport is one, but is no subclass.
        transport = cast("asyncio.Transport", transport)
        self._transport = transport
        self._next()

    def _next(self) -> None:
        request = self._make()
        if request is None:
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
        if self._missing == -2:  # only the end matters, and it may lie across two pieces
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
    """Send requests over so many connections, for so long (or so many)."""
    loop = asyncio.get_running_loop()
    result = Result()
    stop_at = time.perf_counter() + seconds
    sent = 0

    def next_request() -> bytes | None:
        nonlocal sent
        if (requests and sent >= requests) or (not requests and time.perf_counter() >= stop_at):
            return None
        sent += 1
        return make()

    context = target.context()
    start = time.perf_counter()
    waiting = []
    for _ in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        await loop.create_connection(
            lambda d=done: _Connection(next_request, result, d), target.host, target.port, ssl=context
        )
        waiting.append(done)
    await asyncio.gather(*waiting)
    result.seconds = time.perf_counter() - start
    return result


def percentile(values: list[float], share: float) -> float:
    """The value below which ``share`` of all values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
