"""HTTP/2 client connection, which multiplexes all calls of a channel.

Promises:

* Calls are sent at the end of the event loop iteration that starts them, in the order of their streams, as far as the peer's
windows permit; the rest follows as the windows open. Calls in memory are bounded by the callers.
* Every call ends: with the peer's status, or with an error if the stream is reset, the connection is lost, or a ping is not
acknowledged in time.
* ``is_unsent`` is set only for calls that the peer declares not to have processed (GOAWAY, REFUSED_STREAM).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from steersman.asynckit.timeouts import Timeout
from steersman.grpc import frames
from steersman.grpc.calls import Call, StreamCall, UnaryCall, framed
from steersman.grpc.errors import REFUSED_STREAM, Code, RpcError, code_of_reset
from steersman.grpc.frames import ProtocolError
from steersman.grpc.headers import HeaderBlocks, HeaderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.asynckit.clock import Clock, Timer
    from steersman.grpc.headers import Method

#: Receive windows: of one stream, and of the connection.
_STREAM_WINDOW: Final = 4 << 20
_CONNECTION_WINDOW: Final = 16 << 20
#: Keepalive of an idle connection with calls: interval and timeout; etcd permits a ping every 5 s.
_PING_AFTER_SECONDS: Final = 10.0
_PING_TIMEOUT_SECONDS: Final = 5.0
#: Timeout of a close for a peer that does not read.
_CLOSE_SECONDS: Final = 1.0
#: Maximum size of a header block with continuations.
_BLOCK_MAX: Final = 64 * 1024
#: Stream number from which a new connection is used, before numbers are exhausted.
_LAST_STREAM: Final = (1 << 31) - 3


class Connection(asyncio.Protocol):
    """HTTP/2 connection; see the module for its promises. ``on_end`` is called when no further calls may be started, and when the connection is lost."""

    def __init__(self, clock: Clock, on_end: Callable[[Connection], None]) -> None:
        self._clock = clock
        self._on_end = on_end
        self._loop: Final = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        #: Frames of this event loop iteration, which are sent at its end in one system call.
        self._outgoing: list[bytes] = []
        self._blocks = HeaderBlocks()
        #: Resolved by the peer's first settings.
        self.ready: Final[asyncio.Future[None]] = self._loop.create_future()
        self._calls: dict[int, Call] = {}
        self._next_number = 1
        self._is_draining = False
        self._loss: RpcError | None = None
        # receiving
        self._rest = b""
        self._block = b""
        self._block_of: tuple[int, int] | None = None
        self._uncredited = 0
        self._has_received = False
        # sending
        self._send_window = frames.INITIAL_WINDOW
        self._stream_window = frames.INITIAL_WINDOW
        self._payload_max = frames.PAYLOAD_MAX
        self._max_streams = frames.WINDOW_MAX
        #: Calls with messages pending for windows, in order.
        self._blocked: dict[Call, None] = {}
        self._slots: list[asyncio.Future[None]] = []
        self._probe: Timer | None = None
        self._closed = asyncio.Event()

    # -- life ----------------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # of a stream protocol
        self._write(
            frames.PREFACE
            + frames.settings(
                (frames.SETTING_ENABLE_PUSH, 0),
                (frames.SETTING_INITIAL_WINDOW, _STREAM_WINDOW),
            )
            + frames.window_update(0, _CONNECTION_WINDOW - frames.INITIAL_WINDOW)
        )
        self._probe = self._clock.timer(_PING_AFTER_SECONDS, self._ping_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.set()
        self._lose(RpcError(Code.UNAVAILABLE, f"connection lost: {exc}" if exc else "connection closed by the peer"))

    def close(self) -> None:
        """Close the connection; calls fail. Idempotent."""
        if self._loss is None:
            self._write(frames.goaway(frames.NO_ERROR))
        self._lose(RpcError(Code.CANCELLED, "the channel is closed"))

    async def wait_closed(self) -> None:
        """Wait until the socket is closed, after ``close``; data that the peer does not read in time is dropped."""
        if self._transport is None:
            return
        try:
            async with Timeout(_CLOSE_SECONDS, clock=self._clock):
                await self._closed.wait()
        except TimeoutError:
            self._transport.abort()

    def _lose(self, error: RpcError) -> None:
        if self._loss is not None:
            return
        self._loss = error
        if self._probe is not None:
            self._probe.cancel()
        if self._transport is not None:
            self._flush()
            self._transport.close()
        if not self.ready.done():
            self.ready.set_exception(RpcError(error.code, error.details, is_unsent=True))
            self.ready.exception()  # marks it as retrieved: an attempt that failed before has raised its own error
        calls, self._calls = list(self._calls.values()), {}
        self._blocked.clear()
        for call in calls:
            call.finish(RpcError(error.code, error.details))
        self._is_draining = True
        self._on_end(self)
        self._wake_all()

    def _drain(self) -> None:
        """Reject further calls; close after the last one."""
        if not self._is_draining:
            self._is_draining = True
            self._on_end(self)
            self._wake_all()
        if not self._calls and self._loss is None and self._transport is not None:
            self._flush()
            self._transport.close()

    def _wake_all(self) -> None:
        slots, self._slots = self._slots, []
        for slot in slots:
            if not slot.done():
                slot.set_result(None)

    def _ping_if_idle(self) -> None:
        if self._has_received or not self._calls:
            self._has_received = False
            self._probe = self._clock.timer(_PING_AFTER_SECONDS, self._ping_if_idle)
            return
        self._write(frames.frame(frames.PING, 0, 0, bytes(8)))
        self._probe = self._clock.timer(_PING_TIMEOUT_SECONDS, self._check_pong)

    def _check_pong(self) -> None:
        if self._has_received:
            self._ping_if_idle()
            return
        transport = self._transport
        self._lose(RpcError(Code.UNAVAILABLE, "the peer does not answer pings"))
        if transport is not None:
            transport.abort()

    # -- calls ---------------------------------------------------------------------------------------------------------

    @property
    def is_lost(self) -> bool:
        """True if all calls have ended and no further call can be started."""
        return self._loss is not None

    def factory(self) -> Connection:
        """Return this object: the protocol factory for the event loop."""
        return self

    @property
    def has_slot(self) -> bool:
        """True if the peer accepts another stream."""
        return len(self._calls) < self._max_streams

    async def slot(self) -> None:
        """Wait until the peer may accept another stream, or the connection has ended."""
        freed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._slots.append(freed)
        await freed

    def start_unary(self, method: Method, request: bytes) -> UnaryCall:
        """Send a request; the result is ``response`` of the call."""
        call = UnaryCall()
        self._open(call, method, framed(request), ends=True)
        return call

    def start_stream(self, method: Method, request: bytes) -> StreamCall:
        """Open a stream with a first message."""
        call = StreamCall(self._send, self.cancel)
        call.credit = self._credit
        self._open(call, method, framed(request), ends=False)
        return call

    def _open(self, call: Call, method: Method, body: bytes, *, ends: bool) -> None:
        number = call.number = self._next_number
        self._next_number = number + 2
        self._calls[number] = call
        call.send_window = self._stream_window
        head = frames.frame(frames.HEADERS, frames.END_HEADERS, number, self._blocks.encode(method))
        size = len(body)
        if size <= self._send_window and size <= call.send_window and size <= self._payload_max and not self._blocked:
            self._send_window -= size
            call.send_window -= size
            self._write(head + frames.frame(frames.DATA, frames.END_STREAM if ends else 0, number, body))
        else:
            self._write(head)
            self._queue(call, body, ends=ends)
        if number >= _LAST_STREAM:
            self._drain()

    def _send(self, call: Call, body: bytes) -> None:
        self._queue(call, body, ends=False)

    def _queue(self, call: Call, body: bytes, *, ends: bool) -> None:
        call.unsent += body
        call.ends_after_unsent = ends
        self._blocked[call] = None
        self._send_blocked()

    def _send_blocked(self) -> None:
        """Send pending messages within the windows."""
        for call in list(self._blocked):
            while call.unsent:
                size = min(len(call.unsent), self._payload_max, call.send_window, self._send_window)
                if size <= 0:
                    break
                part, call.unsent = call.unsent[:size], call.unsent[size:]
                call.send_window -= size
                self._send_window -= size
                ends = call.ends_after_unsent and not call.unsent
                self._write(frames.frame(frames.DATA, frames.END_STREAM if ends else 0, call.number, part))
            if not call.unsent:
                del self._blocked[call]

    def cancel(self, call: Call) -> None:
        """Reset the stream of a call."""
        if self._calls.get(call.number) is call:
            self._write(frames.rst_stream(call.number, frames.CANCEL))
            self._forget(call)

    def _forget(self, call: Call) -> None:
        self._calls.pop(call.number, None)
        if self._blocked:
            self._blocked.pop(call, None)
        if self._slots and self.has_slot:
            slot = self._slots.pop(0)
            if not slot.done():
                slot.set_result(None)
        if self._is_draining and not self._calls:
            self._drain()

    def _finish(self, call: Call, error: RpcError | None) -> None:
        self._forget(call)
        call.finish(error)

    def _credit(self, call: Call, size: int) -> None:
        """Enlarge the receive window of a stream."""
        call.uncredited += size
        if call.uncredited >= _STREAM_WINDOW // 4 and call.number in self._calls:
            self._write(frames.window_update(call.number, call.uncredited))
            call.uncredited = 0

    def _write(self, data: bytes) -> None:
        if self._transport is not None and self._loss is None:
            if not self._outgoing:
                self._loop.call_soon(self._flush)
            self._outgoing.append(data)

    def _flush(self) -> None:
        outgoing, self._outgoing = self._outgoing, []
        if outgoing and self._transport is not None:
            self._transport.write(b"".join(outgoing))

    # -- frames of the peer --------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._has_received = True
        if self._rest:
            data = self._rest + data
        position, end = 0, len(data)
        try:
            while end - position >= frames.HEADER_BYTES:
                size = data[position] << 16 | data[position + 1] << 8 | data[position + 2]
                start = position + frames.HEADER_BYTES
                if start + min(size, frames.PAYLOAD_MAX + 1) > end:
                    break
                number = int.from_bytes(data[position + 5 : start], "big") & 0x7FFFFFFF
                self._on_frame(data[position + 3], data[position + 4], number, data[start : start + size])
                position = start + size
                if self._loss is not None:
                    return
            self._rest = data[position:]
        except ProtocolError as error:
            self._write(frames.goaway(error.code))
            self._lose(RpcError(Code.INTERNAL, f"HTTP/2: {error}"))

    def _on_frame(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if len(payload) > frames.PAYLOAD_MAX:
            raise ProtocolError(frames.FRAME_SIZE_ERROR, "a frame is larger than the settings permit")
        if self._block_of is not None and kind != frames.CONTINUATION:
            raise ProtocolError(frames.PROTOCOL_ERROR, "a header block is interrupted")
        if kind == frames.DATA:
            self._on_data(flags, number, payload)
        elif kind == frames.HEADERS:
            block = payload
            if flags & (frames.PADDED | frames.PRIORITY):
                block = frames.without_padding(flags, payload, has_priority=bool(flags & frames.PRIORITY))
            self._on_block(flags, number, flags & frames.END_STREAM, block)
        elif kind == frames.CONTINUATION:
            if self._block_of is None or self._block_of[0] != number:
                raise ProtocolError(frames.PROTOCOL_ERROR, "CONTINUATION without a header block")
            self._on_block(flags, number, self._block_of[1], self._block + payload)
        elif kind == frames.WINDOW_UPDATE:
            self._on_window_update(number, payload)
        elif kind == frames.PING:
            if not flags & frames.ACK:
                self._write(frames.frame(frames.PING, frames.ACK, 0, payload))
        elif kind == frames.SETTINGS:
            if not flags & frames.ACK:
                self._on_settings(payload)
        elif kind == frames.RST_STREAM:
            self._on_reset(number, payload)
        elif kind == frames.GOAWAY:
            self._on_goaway(payload)
        elif kind == frames.PUSH_PROMISE:
            raise ProtocolError(frames.PROTOCOL_ERROR, "a push, which is disabled")

    def _on_data(self, flags: int, number: int, payload: bytes) -> None:
        self._uncredited += len(payload)
        if self._uncredited >= _CONNECTION_WINDOW // 4:
            self._write(frames.window_update(0, self._uncredited))
            self._uncredited = 0
        call = self._calls.get(number)
        if call is None:  # the call was cancelled
            return
        content = frames.without_padding(flags, payload) if flags & frames.PADDED else payload
        try:
            consumed = call.on_data(content) + len(payload) - len(content)
        except RpcError as error:
            self._write(frames.rst_stream(number, frames.CANCEL))
            self._finish(call, error)
            return
        if flags & frames.END_STREAM:
            self._finish(call, RpcError(Code.INTERNAL, "the response ended without a status"))
        elif consumed:
            self._credit(call, consumed)

    def _on_block(self, flags: int, number: int, is_last: int, block: bytes) -> None:
        if len(block) > _BLOCK_MAX:
            raise ProtocolError(frames.PROTOCOL_ERROR, "a header block is too large")
        if not flags & frames.END_HEADERS:
            self._block, self._block_of = block, (number, is_last)
            return
        self._block, self._block_of = b"", None
        try:
            headers = self._blocks.decode(block)
        except HeaderError as error:
            raise ProtocolError(frames.COMPRESSION_ERROR, str(error)) from error
        call = self._calls.get(number)
        if call is None:
            return
        if is_last:
            self._forget(call)
        call.on_headers(headers, is_last=bool(is_last))

    def _on_window_update(self, number: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ProtocolError(frames.FRAME_SIZE_ERROR, "WINDOW_UPDATE of a broken size")
        increment = int.from_bytes(payload, "big") & 0x7FFFFFFF
        call = self._calls.get(number)
        if not number:
            self._send_window += increment
            if self._send_window > frames.WINDOW_MAX:
                raise ProtocolError(frames.FLOW_CONTROL_ERROR, "the window of the connection is too large")
        elif call is not None:
            call.send_window += increment
        if self._blocked:
            self._send_blocked()

    def _on_settings(self, payload: bytes) -> None:
        for number, value in frames.read_settings(payload):
            if number == frames.SETTING_INITIAL_WINDOW:
                for call in self._calls.values():
                    call.send_window += value - self._stream_window
                self._stream_window = value
            elif number == frames.SETTING_MAX_FRAME:
                self._payload_max = value
            elif number == frames.SETTING_MAX_STREAMS:
                self._max_streams = value
            elif number == frames.SETTING_TABLE_SIZE:
                self._blocks.set_table_size(value)
        self._write(frames.frame(frames.SETTINGS, frames.ACK, 0, b""))
        if not self.ready.done():
            self.ready.set_result(None)
        self._send_blocked()

    def _on_reset(self, number: int, payload: bytes) -> None:
        call = self._calls.get(number)
        if call is not None:
            code = int.from_bytes(payload, "big")
            error = RpcError(code_of_reset(code), f"stream reset with code {code}", is_unsent=code == REFUSED_STREAM)
            self._finish(call, error)

    def _on_goaway(self, payload: bytes) -> None:
        last = int.from_bytes(payload[:4], "big") & 0x7FFFFFFF
        text = payload[8:].decode(errors="replace") or f"code {int.from_bytes(payload[4:8], 'big')}"
        for call in [call for number, call in self._calls.items() if number > last]:
            self._finish(call, RpcError(Code.UNAVAILABLE, f"the peer goes away: {text}", is_unsent=True))
        self._drain()
