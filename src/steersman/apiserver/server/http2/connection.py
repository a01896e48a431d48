"""Protocol of one HTTP/2 connection: requests in, each on a stream with its own task, responses out.

Shutdown has two steps (RFC 9113, 6.8): a GOAWAY without a last stream and a PING, so that the client opens no further streams; then,
when the PING is acknowledged or ``GOAWAY_SECONDS`` later, a GOAWAY with the last stream that is served. The connection is closed
after the last response. Upstream sends the second GOAWAY at once, and refuses requests that are on their way.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from h2 import events
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from steersman.apiserver.server.http1.exchange import Exchange
from steersman.apiserver.server.http1.flow import Flow
from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX
from steersman.apiserver.server.http1.request_body import RequestBody
from steersman.apiserver.server.http1.rules import Refusal
from steersman.apiserver.server.http1.scope import RequestScopes
from steersman.apiserver.server.http1.timers import ConnectionTimers
from steersman.apiserver.server.http2.budgets import FrameBudgets
from steersman.apiserver.server.http2.frames import NO_LAST_STREAM, OutgoingFrames, server_protocol
from steersman.apiserver.server.http2.limits import (
    GOAWAY_SECONDS,
    HEADER_LIST_BYTES_MAX,
    PARSED_BYTES,
    WAITING_PER_STREAM,
)
from steersman.apiserver.server.http2.rules import RequestHead, is_adequate, request_head
from steersman.apiserver.server.http2.stream import Stream, StreamFlow, StreamPush, StreamResponse

if TYPE_CHECKING:
    from steersman.apiserver.server.http1.state import ServerState
    from steersman.asynckit.clock import Timer

_log = logging.getLogger(__name__)

#: Data of the PING that follows the first GOAWAY.
_SHUTDOWN_PING: Final = b"shutdown"

OPEN: Final = 0
#: The client knows that it should open no further streams.
ANNOUNCED: Final = 1
#: Further streams are refused; the connection ends with its last stream.
ENDING: Final = 2
#: Received bytes are dropped until the connection is closed.
CLOSING: Final = 3


def _ignore() -> None:
    """Do nothing at the end of a response: its stream ends when it is sent."""


class Http2Connection:
    """Protocol of a connection, with the methods of ``asyncio.Protocol`` (see ``http1.connection``)."""

    __slots__ = (
        "_budgets",
        "_closed",
        "_frames",
        "_has_settings",
        "_loop",
        "_max_streams",
        "_opened",
        "_phase",
        "_protocol",
        "_running",
        "_scopes",
        "_server",
        "_shutdown_timer",
        "_streams",
        "_timers",
        "_waiting",
        "flow",
        "transport",
    )

    def __init__(self, server: ServerState, max_streams: int) -> None:
        self._server = server
        self._max_streams = max_streams
        self._loop = asyncio.get_running_loop()
        self._phase = OPEN
        self._protocol = server_protocol(max_streams)
        self._budgets = FrameBudgets(max_streams, clock=server.clock)
        self._timers = ConnectionTimers(server.clock, server.timeouts, abort=self._abort, close=self.shut_down)
        self._shutdown_timer: Timer | None = None
        self._has_settings = False
        self._streams: dict[int, Stream] = {}
        #: Requests of the bytes that are parsed.
        self._opened: list[Stream] = []
        #: Number of requests whose application runs, also after the end of their streams.
        self._running = 0
        #: Requests that wait for one of those.
        self._waiting: deque[Stream] = deque()
        #: Created when a caller waits for the end of the connection.
        self._closed: asyncio.Event | None = None

    # Methods of asyncio.Protocol

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.flow = Flow(transport)
        self._frames = OutgoingFrames(self._protocol, transport, self._loop, self._budgets)
        self._scopes = RequestScopes(transport, {})
        transport.set_write_buffer_limits(high=WRITE_BYTES_MAX)
        self._server.connections.add(self)
        self._frames.flush()
        if not is_adequate(transport.get_extra_info("ssl_object")):
            self._fail(ErrorCodes.INADEQUATE_SECURITY)
        elif self._server.is_draining:
            self.shut_down()
        else:
            self._timers.expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._closed is not None:
            self._closed.set()
        self._phase = CLOSING
        self._frames.close()
        self._drop_streams()
        self._server.connections.discard(self)
        self._timers.release()
        self._cancel_shutdown_timer()
        self._scopes.release()
        self.flow.resume_writing()

    def eof_received(self) -> None:
        """Treat a half-closed connection as closed."""

    def pause_writing(self) -> None:
        self.flow.pause_writing()
        self._timers.start_writing()
        for stream in self._streams.values():
            stream.flow.pause_writing()

    def resume_writing(self) -> None:
        self.flow.resume_writing()
        if self._phase != CLOSING:
            self._timers.stop_writing()
        for stream in self._streams.values():
            stream.flow.resume_writing()

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PARSED_BYTES):
            if self._phase == CLOSING:
                return
            self._parse(data if len(data) <= PARSED_BYTES else data[start : start + PARSED_BYTES])
        for stream in self._opened:
            if not stream.is_request_complete and stream.number in self._streams:
                stream.start_timer("body", self._server.timeouts.body, self._expire)
        self._opened.clear()

    # Frames of the client

    def _parse(self, data: bytes) -> None:
        try:
            received = self._protocol.receive_data(data)
        except ProtocolError:
            self._end_all()  # after the GOAWAY that h2 has prepared
            return
        except Exception:  # noqa: BLE001 — bytes of a client end its connection and nothing else
            _log.exception("frames that h2 cannot read")
            self._fail(ErrorCodes.INTERNAL_ERROR)
            return
        frames = self._protocol.take_received_frames()
        if received and not frames:
            _log.error("this version of h2 reads frames by other methods: floods could not be bounded")
            self._fail(ErrorCodes.INTERNAL_ERROR)
            return
        self._budgets.take_control_frames(frames - sum([self._is_useful(event) for event in received]))
        for event in received:
            self._handle(event)
            if self._phase == CLOSING:
                return
            if self._budgets.is_exceeded:
                break
        if self._budgets.is_exceeded or self._protocol.header_block_bytes > HEADER_LIST_BYTES_MAX:
            self._fail(ErrorCodes.ENHANCE_YOUR_CALM)
        self._frames.schedule()

    def _is_useful(self, event: events.Event) -> bool:
        """Report whether the frame of an event carries something for a request; of each frame, one event does at most."""
        if isinstance(event, events.DataReceived):
            return bool(event.data) or event.stream_ended is not None
        if isinstance(event, events.WindowUpdated):
            return self._budgets.take_window_update()
        return isinstance(event, (events.RequestReceived, events.TrailersReceived))

    def _handle(self, event: events.Event) -> None:
        if isinstance(event, events.RequestReceived):
            self._open(event.stream_id, event.headers, has_body=event.stream_ended is None)
        elif isinstance(event, events.DataReceived):
            self._receive_body(event.stream_id, event.data, event.flow_controlled_length)
        elif isinstance(event, events.StreamEnded):
            self._end_request(event.stream_id)
        elif isinstance(event, events.WindowUpdated):
            self._resume(event.stream_id)
        elif isinstance(event, events.StreamReset):
            self._budgets.take_reset()
            self._end_stream(event.stream_id, None, is_disconnected=True)
        elif isinstance(event, events.RemoteSettingsChanged):
            self._change_settings()
        elif isinstance(event, events.PingAckReceived):
            if event.ping_data == _SHUTDOWN_PING:
                self._announce_last_stream()
        elif isinstance(event, events.ConnectionTerminated):
            self._announce_last_stream()

    def _change_settings(self) -> None:
        if not self._has_settings:
            self._has_settings = True
            if not self._streams:
                self._timers.begin_idleness()
        self._timers.stop_reading()
        self._frames.limit_table()
        self._resume(0)

    def _resume(self, number: int) -> None:
        """Send what waits for the window of a stream, or that of the connection (0)."""
        for stream in list(self._streams.values()) if number == 0 else filter(None, [self._streams.get(number)]):
            stream.response.resume()

    # Requests

    def _open(self, number: int, block: list[Any] | None, *, has_body: bool) -> None:
        """Start the request of a new stream, or reject it."""
        if self._phase == ENDING or len(self._streams) >= self._max_streams:
            self._refuse(number, ErrorCodes.REFUSED_STREAM)
            return
        head = request_head(block or [])
        if head is None:
            self._refuse(number, ErrorCodes.PROTOCOL_ERROR)
            return
        if isinstance(head, Refusal):
            self._respond(number, head, has_body=has_body)
            return
        self._timers.end_idleness()
        stream = self._new_stream(number, head, has_body=has_body)
        self._streams[number] = stream
        if has_body:
            self._opened.append(stream)
        if self._running < self._max_streams:
            self._start(stream)
        elif len(self._waiting) < WAITING_PER_STREAM * self._max_streams:
            self._waiting.append(stream)
        else:
            self._fail(ErrorCodes.ENHANCE_YOUR_CALM)

    def _new_stream(self, number: int, head: RequestHead, *, has_body: bool) -> Stream:
        server = self._server
        flow = StreamFlow(self.transport, self._frames, number, is_paused=self.flow.write_paused)
        response = StreamResponse(
            self._frames,
            number,
            flow,
            is_head_request=head.method == "HEAD",
            stall=lambda is_stalled: self._stall(number, is_stalled=is_stalled),
            on_end=self._end_stream,
        )
        scope = self._scopes.create(head.method, head.path, head.query, "2", head.headers)
        scope["extensions"] = {**scope["extensions"], "steersman.push": StreamPush(response, flow)}
        body = RequestBody() if has_body else None
        exchange = Exchange(
            scope,
            body,
            response,
            flow,
            date_line=server.date_line,
            expects_100=head.expects_100 and has_body,
            on_response=_ignore,
        )
        return Stream(number, exchange, body, response, flow, clock=server.clock)

    def _start(self, stream: Stream) -> None:
        self._running += 1
        task = self._loop.create_task(self._serve(stream))
        stream.exchange.scope["steersman.task"] = task
        self._server.tasks.add(task)

    async def _serve(self, stream: Stream) -> None:
        exchange = stream.exchange
        try:
            if not exchange.is_disconnected:  # reset in the bytes that opened the stream
                await exchange.run(self._server.app)
        finally:
            self._server.tasks.discard(exchange.scope["steersman.task"])
            self._running -= 1
            if stream.response.closes_connection:
                self.shut_down()
            while self._waiting and self._running < self._max_streams:
                waiting = self._waiting.popleft()
                if waiting.number in self._streams:
                    self._start(waiting)

    def _receive_body(self, number: int, data: bytes, size: int) -> None:
        stream = self._streams.get(number)
        if stream is None or stream.body is None:
            self._frames.acknowledge(number, size)
            return
        stream.flow.add_received(size)
        if data:
            stream.body.add(data)
            stream.exchange.notify()

    def _end_request(self, number: int) -> None:
        stream = self._streams.get(number)
        if stream is None or stream.is_request_complete:
            return
        stream.is_request_complete = True
        stream.stop_timer("body")
        if stream.body is not None:
            stream.body.is_complete = True
        stream.exchange.notify()

    def _refuse(self, number: int, code: ErrorCodes) -> None:
        """Reset a new stream."""
        self._budgets.take_reset()
        self._frames.reset(number, code)

    def _respond(self, number: int, refusal: Refusal, *, has_body: bool) -> None:
        """Respond to a rejected request."""
        self._budgets.take_reset()
        content = refusal.content
        headers = [
            (b":status", b"%d" % refusal.code),
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(content)),
        ]
        self._frames.head(number, headers, ends=not content)
        if content and self._frames.window(number) < len(content):
            self._frames.reset(number, ErrorCodes.CANCEL)
            return
        if content:
            self._frames.data(number, content, ends=True)
        if has_body:
            self._frames.reset(number, ErrorCodes.NO_ERROR)

    # The end of streams

    def _end_stream(self, number: int, code: ErrorCodes | None, *, is_disconnected: bool = False) -> None:
        """Forget a stream that the client has reset, whose response is sent, or that is reset with ``code``."""
        stream = self._streams.pop(number, None)
        if stream is None:
            return
        if code is not None:
            self._frames.reset(number, code)
        elif not stream.is_request_complete and not is_disconnected:
            self._frames.reset(number, ErrorCodes.NO_ERROR)
        stream.release(is_disconnected=is_disconnected or code is not None)
        if self._streams:
            return
        if self._phase == ENDING:
            self._close()
        elif self._phase == OPEN:
            self._timers.begin_idleness()

    def _stall(self, number: int, *, is_stalled: bool) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return
        if is_stalled:
            stream.start_timer("window", self._server.timeouts.write_stall, self._expire)
        else:
            stream.stop_timer("window")

    def _expire(self, number: int) -> None:
        """Reset a stream whose client does not send the body, or does not read the response."""
        self._end_stream(number, ErrorCodes.CANCEL)

    def _drop_streams(self) -> None:
        """Disconnect all requests."""
        streams = list(self._streams.values())
        self._streams.clear()
        self._waiting.clear()
        self._opened.clear()
        for stream in streams:
            stream.release(is_disconnected=True)

    # The end of the connection

    @property
    def has_unsent(self) -> bool:
        """True while a response that is complete has not been written."""
        return self.transport.get_write_buffer_size() > 0 or bool(self._streams)

    def shut_down(self) -> None:
        """Close the connection after the open streams, or at once without one."""
        if self._phase != OPEN:
            return
        if not self._streams:
            self._announce_last_stream()
            return
        self._phase = ANNOUNCED
        self._frames.goaway(NO_LAST_STREAM, ErrorCodes.NO_ERROR)
        self._frames.ping(_SHUTDOWN_PING)
        self._shutdown_timer = self._server.clock.timer(GOAWAY_SECONDS, self._announce_last_stream)

    def _announce_last_stream(self) -> None:
        """Refuse further streams; close the connection after the open ones."""
        if self._phase >= ENDING:
            return
        self._phase = ENDING
        self._cancel_shutdown_timer()
        self._frames.goaway(self._protocol.highest_inbound_stream_id, ErrorCodes.NO_ERROR)
        if not self._streams:
            self._close()

    def _cancel_shutdown_timer(self) -> None:
        if self._shutdown_timer is not None:
            self._shutdown_timer.cancel()
            self._shutdown_timer = None

    async def closed(self) -> None:
        """Return when the connection is lost. For one caller."""
        self._closed = asyncio.Event()
        await self._closed.wait()

    def _fail(self, code: ErrorCodes) -> None:
        """End the connection and all its requests because of the client."""
        self._frames.goaway(self._protocol.highest_inbound_stream_id, code)
        self._end_all()

    def _end_all(self) -> None:
        """Write pending frames, end all requests, and close the connection."""
        self._frames.close()
        self._drop_streams()
        self._close()

    def _close(self) -> None:
        """Close the connection a moment later, as the client may be sending: unread bytes would cost it the last responses."""
        self._phase = CLOSING
        self._cancel_shutdown_timer()
        self._timers.end_idleness()
        self._timers.stop_reading()
        self._frames.close()
        self._timers.linger(self._close_transport)

    def _close_transport(self) -> None:
        if self.transport.is_closing():
            return
        if self.transport.get_write_buffer_size():
            self._timers.start_writing()
        self.transport.close()

    def _abort(self) -> None:
        self.transport.abort()
