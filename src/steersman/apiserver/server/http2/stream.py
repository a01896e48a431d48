"""Request and response of one stream: framing of the response, flow control in both directions, pushed pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from h2.errors import ErrorCodes

from steersman.apiserver.server.http1.flow import Flow
from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX
from steersman.apiserver.server.http1.response import WITHOUT_BODY, ResponseFraming, remaining_after
from steersman.apiserver.server.http2.rules import CONNECTION_HEADERS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from steersman.apiserver.server.http1.exchange import Exchange
    from steersman.apiserver.server.http1.request_body import RequestBody
    from steersman.apiserver.server.http2.frames import OutgoingFrames
    from steersman.asynckit.clock import Clock, Timer


class StreamFlow(Flow):
    """Flow control of one stream: reading pauses when its window is used up, writing when the client's window or the
    transport's buffer is.
    """

    __slots__ = ("_frames", "_is_transport_paused", "_number", "_unacknowledged", "is_window_used")

    def __init__(self, transport: asyncio.Transport, frames: OutgoingFrames, number: int, *, is_paused: bool) -> None:
        super().__init__(transport)
        self._frames = frames
        self._number = number
        #: Received bytes that the application has not taken.
        self._unacknowledged = 0
        self._is_transport_paused = is_paused
        self.is_window_used = False
        self.write_paused = is_paused

    def add_received(self, size: int) -> None:
        """Count received bytes."""
        self._unacknowledged += size

    def pause_reading(self) -> None:
        """Do nothing: the client has no window until the application takes the body."""

    def resume_reading(self) -> None:
        """Let the client send as much as was received."""
        size = self._unacknowledged
        if size:
            self._unacknowledged = 0
            self._frames.acknowledge(self._number, size)

    def pause_writing(self) -> None:
        self._is_transport_paused = True
        self.write_paused = True

    def resume_writing(self) -> None:
        self._is_transport_paused = False
        self.update()

    def update(self) -> None:
        """Wake a writer if neither the window nor the transport pauses it."""
        self.write_paused = self.is_window_used or self._is_transport_paused
        if not self.write_paused:
            super().resume_writing()

    def release(self) -> None:
        """Wake a writer for good: the stream has ended."""
        self.is_window_used = self._is_transport_paused = False
        self.update()


class StreamResponse(ResponseFraming):
    """Response on a stream. Up to a part of the body is kept until the client opens its window."""

    __slots__ = (
        "_drops_body",
        "_ends",
        "_flow",
        "_frames",
        "_head",
        "_is_closed",
        "_is_head_request",
        "_number",
        "_on_end",
        "_remaining_bytes",
        "_stall",
        "_unsent",
        "closes_connection",
    )

    def __init__(
        self,
        frames: OutgoingFrames,
        number: int,
        flow: StreamFlow,
        *,
        is_head_request: bool,
        stall: Callable[[bool], None],
        on_end: Callable[[int, ErrorCodes | None], None],
    ) -> None:
        """``stall`` is called with True when the client's window is used up, with False when all is sent. ``on_end``: called once,
        when the response is sent, or with the code to reset the stream with.
        """
        super().__init__(keep_alive=True)
        self._frames = frames
        self._number = number
        self._flow = flow
        self._is_head_request = is_head_request
        self._stall = stall
        self._on_end = on_end
        self._is_closed = False
        #: The response has ``Connection: close``: the connection takes no further requests.
        self.closes_connection = False
        self._drops_body = False
        #: Remaining bytes of Content-Length; negative without one.
        self._remaining_bytes = -1
        #: Head of a response with Content-Length, sent together with the first part of the body.
        self._head: list[tuple[bytes, bytes]] = []
        #: Part of the body that waits for the client's window, and whether it is the last one.
        self._unsent = b""
        self._ends = False

    def begin(self, code: int, headers: Sequence[tuple[bytes, bytes]], date_line: bytes) -> None:
        block = [(b":status", b"%d" % code), (b"date", date_line[6:-2])]
        length = -1
        for name, value in headers:
            if name == b"content-length":
                if code in WITHOUT_BODY:
                    continue
                length = int(value)
            elif name in CONNECTION_HEADERS:
                if name == b"connection" and value == b"close":
                    self.closes_connection = True
                continue
            block.append((name, value))
        text = b"".join([part for header in block for part in header])
        if text.find(b"\n") >= 0 or text.find(b"\r") >= 0 or text.find(b"\0") >= 0:
            raise RuntimeError("a header holds the end of a line")
        self.is_started = True
        self._drops_body = self._is_head_request or code in WITHOUT_BODY
        if length < 0:
            self._frames.head(self._number, block, ends=False)
        else:
            self._head = block
            if not self._drops_body:
                self._remaining_bytes = length

    def write(self, part: bytes, *, is_last: bool) -> None:
        if self._is_closed:
            return
        if self._drops_body:
            part = b""
        elif self._remaining_bytes >= 0:
            self._remaining_bytes = remaining_after(part, self._remaining_bytes, is_last=is_last)
        is_ended = False
        if self._head:
            is_ended = is_last and not part
            self._frames.head(self._number, self._head, ends=is_ended)
            self._head = []
        if is_last:
            self.is_complete = True
        if is_ended:
            self._end(None)
        elif part or is_last:
            self._send(part, ends=is_last)

    def _send(self, part: bytes, *, ends: bool) -> None:
        self._ends = ends
        if self._unsent:
            self._unsent += part
            return
        sent = self._frames.data(self._number, part, ends=ends)
        if sent < len(part):
            self._unsent = part[sent:]
            self._flow.is_window_used = True
            self._flow.update()
            self._stall(True)
        elif ends:
            self._end(None)

    def resume(self) -> None:
        """Send what waits for the client's window."""
        if not self._unsent:
            return
        sent = self._frames.data(self._number, self._unsent, ends=self._ends)
        self._unsent = self._unsent[sent:]
        if self._unsent:
            return
        self._stall(False)
        self._flow.is_window_used = False
        self._flow.update()
        if self._ends:
            self._end(None)

    def push(self, piece: bytes) -> bool:
        """Send a piece of a stream at once; return False with nothing sent if that is not possible."""
        if (
            not self.is_started
            or self.is_complete
            or self._is_closed
            or self._drops_body
            or self._remaining_bytes >= 0
            or self._flow.write_paused
            or not 0 < len(piece) <= min(WRITE_BYTES_MAX, self._frames.window(self._number))
        ):
            return False
        self._frames.data(self._number, piece, ends=False)
        return True

    def write_continue(self) -> None:
        if not self._is_closed:
            self._frames.head(self._number, [(b":status", b"100")], ends=False)

    def cut(self) -> None:
        """Reset the stream."""
        self._end(ErrorCodes.INTERNAL_ERROR)

    def close(self) -> None:
        """Drop what is not sent, as the stream has ended."""
        self._is_closed = True
        self._unsent = b""
        self._flow.release()

    def _end(self, code: ErrorCodes | None) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._on_end(self._number, code)


class StreamPush:
    """Writer of pieces of a streamed response without a task switch (ASGI extension ``steersman.push``)."""

    __slots__ = ("_flow", "_response")

    def __init__(self, response: StreamResponse, flow: StreamFlow) -> None:
        self._response = response
        self._flow = flow

    def __call__(self, piece: bytes) -> bool:
        """Write a piece. Returns False without writing if the sender must wait."""
        return self._response.push(piece)

    @property
    def is_paused(self) -> bool:
        """True while the client has not read enough."""
        return self._flow.write_paused

    async def drained(self) -> None:
        """Wait until more may be written, or the stream has ended."""
        await self._flow.drain()


class Stream:
    """Open stream: its request, its response, and the timers of both."""

    __slots__ = ("_clock", "_timers", "body", "exchange", "flow", "is_request_complete", "number", "response")

    def __init__(
        self,
        number: int,
        exchange: Exchange,
        body: RequestBody | None,
        response: StreamResponse,
        flow: StreamFlow,
        *,
        clock: Clock,
    ) -> None:
        self.number: Final = number
        self.exchange: Final = exchange
        self.body: Final = body
        self.response: Final = response
        self.flow: Final = flow
        self.is_request_complete = body is None
        self._clock: Final = clock
        #: By what they time: the rest of the body, or data that the client does not read.
        self._timers: Final[dict[str, Timer]] = {}

    def start_timer(self, subject: str, seconds: float, expire: Callable[[int], None]) -> None:
        """Call ``expire`` with the stream's number after a time, unless ``stop_timer`` comes first."""
        if subject not in self._timers:
            self._timers[subject] = self._clock.timer(seconds, lambda: expire(self.number))

    def stop_timer(self, subject: str) -> None:
        """Cancel a timer, if it runs."""
        timer = self._timers.pop(subject, None)
        if timer is not None:
            timer.cancel()

    def release(self, *, is_disconnected: bool) -> None:
        """Release everything when the stream has ended. ``is_disconnected``: the client is not waiting for the response."""
        for subject in list(self._timers):
            self.stop_timer(subject)
        if is_disconnected:
            self.exchange.disconnect()
        self.flow.resume_reading()  # returns the bytes to the window of the connection
        self.response.close()
