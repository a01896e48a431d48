"""uvicorn's HTTP/1.1 protocol with what it lacks: client certificates in the scope, and bounds for bad clients.

What happens with every request is ours too, because it counts: no timer is made and taken back for the pause between two
requests, the parser's callbacks lie here, where they are compiled (decision 0006), and the answer is a ``Cycle``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from steersman.apiserver.server.cycle import WRITE_BYTES_MAX, Cycle
from steersman.apiserver.server.http_rules import (
    BAD_REQUEST,
    TOO_LARGE,
    escape_request_line,
    refusal_of_bytes,
    refusal_of_head,
    split_target,
)
from steersman.apiserver.server.peer import tls_extension

if TYPE_CHECKING:
    from uvicorn.protocols.http.flow_control import FlowControl
    from uvicorn.server import ServerState

    from steersman.apiserver.server.http_rules import Refusal

# These three are no Finals, which are compiled in: tests wait shorter.
#: Time from the first byte of a request to the end of its body. Upstream: the request timeout.
READ_SECONDS = 60.0
#: Time from the first byte of a request, or from the start of a connection, to the end of the head. Upstream:
#: ``ReadHeaderTimeout`` of SecureServingInfo.Serve.
HEAD_SECONDS = 32.0
#: A client that takes nothing for so long is cut off, so that what waits for it cannot pile up.
WRITE_STALL_SECONDS = 60.0
#: Request line and headers of one request: Go's ``DefaultMaxHeaderBytes``, and what its buffer may hold beyond it.
HEAD_BYTES_MAX: Final = (1 << 20) + 4096
HEADERS_MAX: Final = 1000
#: A client that speaks another protocol before it was allowed to is cut off after so much.
EARLY_BYTES_MAX: Final = 64 * 1024


class Push:
    """Writes a piece of the chunked answer that is under way on a connection, without a task.

    The ASGI extension ``steersman.push``: streams that many events must go through at once take it instead of waking
    the task that sends them, half of whose cost is being woken.
    """

    __slots__ = ("_flow", "_transport")

    def __init__(self, transport: asyncio.Transport, flow: FlowControl) -> None:
        self._transport = transport
        self._flow = flow

    def __call__(self, piece: bytes) -> bool:
        """Write a piece; False, and nothing is written, where its sender has to wait or the piece is too large."""
        if self._flow.write_paused or len(piece) > WRITE_BYTES_MAX or self._transport.is_closing():
            return False
        self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        return True

    @property
    def is_paused(self) -> bool:
        """True while the client has not taken enough of what was written before."""
        return self._flow.write_paused

    async def drained(self) -> None:
        """Return when more may be written, or the connection is lost."""
        await self._flow.drain()


class Protocol(HttpToolsProtocol):
    """One connection."""

    _extensions: dict[str, Any]
    _read_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    #: Bytes of a head that is not whole yet; None outside of heads.
    _head_bytes: int | None = None
    #: The read timer is that of a head.
    _is_head_timed = False
    #: Bytes that are being parsed.
    _data = b""
    #: The reason why the request that is being parsed is refused.
    _refusal: Refusal | None = None
    #: How long the pause between two requests may be.
    _keep_alive_seconds: float
    #: What came after the head of a request for an upgrade; None on connections without one.
    _early: bytes | None = None
    #: A request has begun to arrive and is not whole.
    _receiving = False
    #: Refuses the bytes after the last whole request, of which nothing more is read.
    _last_answer: Refusal | None = None
    #: Since when the connection waits for another request, in the loop's time; None while it does not.
    _idle_since: float | None = None
    #: Looks every now and then whether that is too long: cheaper than a timer for each pause.
    _idle_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        # Of a TLS connection the default is 512 KiB, on top of what its socket holds.
        transport.set_write_buffer_limits(high=WRITE_BYTES_MAX)
        self._extensions = {
            "steersman.push": Push(self.transport, self.flow),
            "steersman.upgrade": self.hand_over,
            **tls_extension(transport),
        }
        self._keep_alive_seconds = cast("Any", self.config).timeout_keep_alive
        self._start_read_timer(of_head=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_read_timer()
        self._stop_idle_timer()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._early is not None:
            self._early += data
            if len(self._early) > EARLY_BYTES_MAX:
                self._cut_off()
            return
        if self._last_answer is not None:
            return
        self._idle_since = None
        if not self._parse(data):
            return
        if self._receiving:
            if self._read_timer is None:
                self._start_read_timer(of_head=self._head_bytes is not None)
        elif self.cycle is not None and not self.cycle.response_complete:
            self._stop_read_timer()
        elif self._read_timer is None and self._idle_since is None:
            # Bytes that begin no request (empty lines) end the waiting for one, which must not last forever.
            self._start_read_timer(of_head=True)

    def _parse(self, data: bytes) -> bool:
        """Report whether the bytes are HTTP; an answer that refuses others is written."""
        if self.transport.is_closing():
            return False
        is_whole_line = not self._receiving
        self._data = data
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._unsupported_upgrade_warning()
        except httptools.HttpParserInvalidURLError:
            escaped = escape_request_line(data) if is_whole_line else None
            if escaped is not None:
                self.parser = httptools.HttpRequestParser(self)
                self._receiving = False
                return self._parse(escaped)
            self._refuse(BAD_REQUEST)
            return False
        except httptools.HttpParserError:
            self._refuse(self._refusal or refusal_of_bytes(data, self.headers if self._receiving else []))
            return False
        finally:
            self._data = b""
        if self._head_bytes is not None and self._receiving:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(TOO_LARGE)
                return False
        return True

    def on_message_begin(self) -> None:
        if not self._receiving:
            self._stop_read_timer()  # that of the idle connection
        self._receiving = True
        self._head_bytes = 0
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_url(self, url: bytes) -> None:
        self.url = self.url + url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        head_bytes, self._head_bytes = self._head_bytes or 0, None
        if self._is_head_timed:
            self._stop_read_timer()
        parser = self.parser
        version = parser.get_http_version()
        target = split_target(self.url)
        may_be_large = head_bytes + len(self._data) > HEAD_BYTES_MAX
        if len(self.headers) > HEADERS_MAX or (may_be_large and self._is_head_large()):
            self._refusal = TOO_LARGE
        else:
            self._refusal = refusal_of_head(parser.get_method(), self.url, version, self.headers, self._data)
        if self._refusal is None and target is None:
            self._refusal = BAD_REQUEST
        if self._refusal is not None or target is None:
            raise httptools.HttpParserError("the request is refused")
        raw_path, query = target
        path = raw_path.decode("ascii")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "headers": self.headers,
            "state": self.app_state,
            "method": parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": query,
            "extensions": self._extensions,
        }
        before = self.cycle
        self.cycle = cycle = Cycle(  # type: ignore[assignment]  # in the place of uvicorn's own
            scope,
            self.transport,
            self.flow,
            standard_headers=self.server_state.default_headers,
            expects_100=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if before is None or before.response_complete:
            self._start(cycle)
        else:  # a client that does not wait for the answer; the next one is answered when it has it
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))  # type: ignore[arg-type]

    def _is_head_large(self) -> bool:
        """Report whether the head itself is too large, without the body that came with it."""
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD_BYTES_MAX

    def _start(self, cycle: Cycle) -> None:
        task = self.loop.create_task(self._serve(cycle))
        # For the application, too: to ask asyncio for it is a system call before Python 3.12.
        cycle.scope["steersman.task"] = task
        self.tasks.add(task)

    async def _serve(self, cycle: Cycle) -> None:
        try:
            await cycle.run(self.app)
        finally:
            # Here and not in a callback, which would cost another turn of the loop.
            self.tasks.discard(cycle.scope["steersman.task"])

    def on_body(self, body: bytes) -> None:
        cycle = self._own_cycle()
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.set()

    def on_message_complete(self) -> None:
        self._receiving = False
        cycle = self._own_cycle()
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.set()

    def _own_cycle(self) -> Cycle:
        cycle: Any = self.cycle  # said to be uvicorn's own
        return cast("Cycle", cycle)

    def on_response_complete(self) -> None:
        """The answer is whole: the next request's turn, or a pause."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start(self.pipeline.pop()[0])  # type: ignore[arg-type]
            return
        if self._last_answer is not None:
            self._write_last_answer(self._last_answer)
            return
        self._idle_since = self.loop.time()
        if self._idle_timer is None:
            self._idle_timer = self.loop.call_later(self._keep_alive_seconds, self._end_pause)

    def _end_pause(self) -> None:
        """Close a connection whose pause is too long; else look again when it would be."""
        self._idle_timer = None
        if self._idle_since is None:
            return
        left = self._idle_since + self._keep_alive_seconds - self.loop.time()
        if left > 0:
            self._idle_timer = self.loop.call_later(left, self._end_pause)
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_STALL_SECONDS, self._cut_off)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _unsupported_upgrade_warning(self) -> None:
        """Who answers may take the connection over (``hand_over``); else it is closed: what follows is not HTTP."""
        self._early = b""
        if self.cycle is not None:
            self.cycle.keep_alive = False
        self._receiving = False

    def hand_over(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The connection, for who asked for an upgrade: nothing of HTTP happens on it any more (``steersman.upgrade``)."""
        self._stop_read_timer()
        self._stop_idle_timer()
        self.flow.resume_reading()
        self.cycle.disconnected = True  # so that nothing else is sent
        self.connections.discard(self)  # who took it closes it
        reader = asyncio.StreamReader(limit=EARLY_BYTES_MAX, loop=self.loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self.loop)
        protocol.connection_made(self.transport)
        if self._early:
            reader.feed_data(self._early)
        self.transport.set_protocol(protocol)
        return reader, asyncio.StreamWriter(self.transport, protocol, reader, self.loop)

    def _refuse(self, refusal: Refusal) -> None:
        """Refuse what was received last and close the connection, after the answers to the whole requests before."""
        self._last_answer = refusal
        self._receiving = False
        self._stop_read_timer()
        cycle = self.cycle
        if self.pipeline and cycle.more_body:
            self.pipeline.popleft()  # the request whose body is malformed
        elif cycle is None or cycle.response_complete or cycle.more_body:
            self._write_last_answer(refusal)

    def _write_last_answer(self, refusal: Refusal) -> None:
        self.transport.write(refusal.encode())
        self.transport.close()

    def _start_read_timer(self, *, of_head: bool) -> None:
        self._is_head_timed = of_head
        self._read_timer = self.loop.call_later(HEAD_SECONDS if of_head else READ_SECONDS, self._cut_off)

    def _cut_off(self) -> None:
        self._read_timer = self._write_timer = None
        self.transport.abort()

    def _stop_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def new_protocol(config: Any, state: ServerState) -> Protocol:
    """A protocol for one connection of a server without lifespan."""
    return Protocol(config=config, server_state=state, app_state={})
