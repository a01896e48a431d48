"""Outgoing frames of a connection: encoded by h2, and written together at the end of an iteration of the event loop."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hpack import NeverIndexedHeaderTuple
from hyperframe.frame import GoAwayFrame

from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX
from steersman.apiserver.server.http2.limits import (
    CLOSED_STREAMS_MAX,
    ENCODER_TABLE_BYTES_MAX,
    FRAME_BYTES_MAX,
    HEADER_LIST_BYTES_MAX,
    STREAM_WINDOW,
)

if TYPE_CHECKING:
    import asyncio

    from h2.errors import ErrorCodes
    from h2.events import Event
    from hyperframe.frame import Frame

    from steersman.apiserver.server.http2.budgets import FrameBudgets

#: The initial window of a connection, which SETTINGS do not change.
_INITIAL_WINDOW: Final = 65535
_STREAMS_UNBOUNDED: Final = (1 << 31) - 1
#: Last stream of a GOAWAY that refuses no stream yet.
NO_LAST_STREAM: Final = (1 << 31) - 1
#: Headers with another value in each response: they would displace all others in the client's table.
_UNIQUE_HEADERS: Final = frozenset({b"audit-id", b"content-length", b"etag", b"last-modified"})


class ServerProtocol(H2Connection):
    """State of a connection. A client that sends GOAWAY gets its responses, as RFC 9113 says; h2 would permit no further frames."""

    MAX_CLOSED_STREAMS: ClassVar[int] = CLOSED_STREAMS_MAX  # type: ignore[misc]  # of h2, for all connections

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config)
        self._received_frames = 0

    def take_received_frames(self) -> int:
        """Return the number of frames since the last call, also of those without an event."""
        count, self._received_frames = self._received_frames, 0
        return count

    @property
    def header_block_bytes(self) -> int:
        """Size of a header block whose end has not been received. h2 bounds the number of its frames only."""
        return sum(len(frame.data) for frame in self.incoming_buffer._headers_buffer)

    def _receive_frame(self, frame: Frame) -> list[Event]:
        self._received_frames += 1
        return super()._receive_frame(frame)

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        return [], [ConnectionTerminated()]


def server_protocol(max_streams: int) -> ServerProtocol:
    """Return the state of a connection whose first frames are pending: settings, and the window of the connection.

    ``rules`` validates requests, so that one that is malformed does not end the requests of other streams. The limit of streams is
    announced here and enforced by the connection, which refuses single streams.
    """
    config = H2Configuration(
        client_side=False,
        header_encoding=None,
        validate_inbound_headers=False,
        normalize_inbound_headers=False,
        validate_outbound_headers=False,
        normalize_outbound_headers=False,
    )
    protocol = ServerProtocol(config)
    protocol.local_settings = settings = Settings(
        client=False,
        initial_values={
            SettingCodes.MAX_CONCURRENT_STREAMS: max_streams,
            SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
            SettingCodes.MAX_FRAME_SIZE: FRAME_BYTES_MAX,
            SettingCodes.MAX_HEADER_LIST_SIZE: HEADER_LIST_BYTES_MAX,
        },
    )
    protocol.max_inbound_frame_size = FRAME_BYTES_MAX
    protocol.decoder.max_header_list_size = HEADER_LIST_BYTES_MAX
    protocol.initiate_connection()
    settings[SettingCodes.MAX_CONCURRENT_STREAMS] = _STREAMS_UNBOUNDED
    settings.acknowledge()
    protocol.increment_flow_control_window(max_streams * STREAM_WINDOW - _INITIAL_WINDOW)
    return protocol


def _field(name: bytes, value: bytes) -> Any:
    """Return a header for h2. Its type is Any for the compiler, which would make plain tuples of all."""
    if name in _UNIQUE_HEADERS:
        return NeverIndexedHeaderTuple(name, value)
    return name, value


class OutgoingFrames:
    """Frames that the server sends on one connection.

    Frames of a stream that the client has reset in the bytes that are being handled are dropped; so are all frames after ``close``.
    """

    __slots__ = ("_budgets", "_is_closed", "_is_scheduled", "_loop", "_pending_bytes", "_protocol", "_transport")

    def __init__(
        self,
        protocol: ServerProtocol,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        budgets: FrameBudgets,
    ) -> None:
        self._protocol: Final = protocol
        self._transport: Final = transport
        self._loop: Final = loop
        self._budgets: Final = budgets
        self._is_closed = False
        self._is_scheduled = False
        #: Approximate size of frames that are not written.
        self._pending_bytes = 0

    def schedule(self) -> None:
        """Write pending frames at the end of this iteration of the event loop."""
        if not self._is_scheduled and not self._is_closed:
            self._is_scheduled = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write pending frames."""
        self._is_scheduled = False
        self._pending_bytes = 0
        data = self._protocol.data_to_send()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Write pending frames; drop all others from now on."""
        self.flush()
        self._is_closed = True

    def head(self, number: int, headers: list[tuple[bytes, bytes]], *, ends: bool) -> None:
        """Send the head of a response. Names are in lower case."""
        if self._is_closed:
            return
        block = [_field(name, value) for name, value in headers]
        with suppress(ProtocolError):
            self._protocol.send_headers(number, block, end_stream=ends)
            self.schedule()

    def data(self, number: int, part: bytes, *, ends: bool) -> int:
        """Send as much of ``part`` as the windows permit; return the number of bytes that are sent or dropped. ``ends``: the
        stream ends with it.
        """
        if self._is_closed:
            return len(part)
        try:
            sent = self._send_data(number, part, ends=ends)
        except ProtocolError:
            return len(part)
        self._pending_bytes += sent
        if self._pending_bytes > WRITE_BYTES_MAX:
            self.flush()
        else:
            self.schedule()
        return sent

    def _send_data(self, number: int, part: bytes, *, ends: bool) -> int:
        protocol = self._protocol
        size = len(part)
        if not size:
            protocol.send_data(number, b"", end_stream=ends)
            return 0
        window = min(protocol.local_flow_control_window(number), size)
        sent = 0
        while sent < window:
            end = min(sent + protocol.max_outbound_frame_size, window)
            protocol.send_data(number, part[sent:end], end_stream=ends and end == size)
            self._budgets.add_data_frames(1)
            sent = end
        return sent

    def window(self, number: int) -> int:
        """Return the number of bytes that may be sent on a stream."""
        try:
            return 0 if self._is_closed else self._protocol.local_flow_control_window(number)
        except ProtocolError:
            return 0

    def reset(self, number: int, code: ErrorCodes) -> None:
        """Send RST_STREAM."""
        if not self._is_closed:
            with suppress(ProtocolError):
                self._protocol.reset_stream(number, code)
                self.schedule()

    def acknowledge(self, number: int, size: int) -> None:
        """Reopen the windows of received bytes that the application has taken, or that are dropped."""
        if not self._is_closed:
            self._protocol.acknowledge_received_data(size, number)
            self.schedule()

    def ping(self, data: bytes) -> None:
        """Send PING."""
        if not self._is_closed:
            self._protocol.ping(data)
            self.schedule()

    def goaway(self, last_stream: int, code: ErrorCodes) -> None:
        """Write GOAWAY after all pending frames. h2 would permit no further frames."""
        self.flush()
        if not self._is_closed and not self._transport.is_closing():
            frame = GoAwayFrame(0, last_stream_id=last_stream, error_code=int(code))
            self._transport.write(frame.serialize())

    def limit_table(self) -> None:
        """Limit the dynamic table of response headers, after settings of the client."""
        encoder = self._protocol.encoder
        encoder.header_table_size = min(encoder.header_table_size, ENCODER_TABLE_BYTES_MAX)
