"""Client side of an HTTP/2 connection that sends any frames, also wrong ones, and records those of the server."""

from __future__ import annotations

from typing import Any

from hpack import Decoder, Encoder
from hyperframe.frame import (
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_STREAMS, INITIAL_WINDOW = SettingsFrame.MAX_CONCURRENT_STREAMS, SettingsFrame.INITIAL_WINDOW_SIZE


class Received:
    """Frames of the server on one stream."""

    def __init__(self) -> None:
        #: Headers of each block: interim responses, then the response.
        self.blocks: list[dict[str, str]] = []
        self.body = b""
        self.is_ended = False
        self.reset: int | None = None
        self.window = 0

    @property
    def code(self) -> int:
        return int(self.blocks[-1][":status"]) if self.blocks else 0

    @property
    def headers(self) -> dict[str, str]:
        return self.blocks[-1]


class Http2Peer:
    """State of the client. Methods return the bytes to send."""

    def __init__(self) -> None:
        self.encoder, self.decoder = Encoder(), Decoder()
        self.next_number = 1
        self.streams: dict[int, Received] = {}
        #: Last stream and code of each GOAWAY.
        self.goaways: list[tuple[int, int]] = []
        self.settings: dict[int, int] = {}
        #: Data of the server's PINGs, and of its acknowledgements.
        self.pings: list[bytes] = []
        self.pongs: list[bytes] = []
        self.settings_acks = 0
        self.window = 0
        self._buffer = b""

    def preface(self, settings: dict[int, int] | None = None) -> bytes:
        return PREFACE + SettingsFrame(0, settings=settings or {}).serialize()

    def headers(
        self,
        method: str = "GET",
        path: str = "/",
        *more: tuple[str, str],
        ends: bool = True,
        block: list[tuple[Any, Any]] | None = None,
        number: int | None = None,
    ) -> bytes:
        """Return a HEADERS frame of a new stream. ``block``: its headers, in place of usual ones."""
        if number is None:
            number = self.next_number
            self.next_number += 2
        if block is None:
            block = [(":method", method), (":scheme", "https"), (":authority", "x"), (":path", path), *more]
        flags = ["END_HEADERS", *(["END_STREAM"] if ends else [])]
        return HeadersFrame(number, data=self.encoder.encode(block), flags=flags).serialize()

    def data(self, number: int, data: bytes, *, ends: bool = True) -> bytes:
        return DataFrame(number, data=data, flags=["END_STREAM"] if ends else []).serialize()

    def reset(self, number: int, code: int = 8) -> bytes:
        return RstStreamFrame(number, error_code=code).serialize()

    def window_update(self, number: int, size: int) -> bytes:
        return WindowUpdateFrame(number, window_increment=size).serialize()

    def change_settings(self, settings: dict[int, int]) -> bytes:
        return SettingsFrame(0, settings=settings).serialize()

    def ping(self, data: bytes = b"12345678", *, is_ack: bool = False) -> bytes:
        return PingFrame(0, opaque_data=data, flags=["ACK"] if is_ack else []).serialize()

    def goaway(self, code: int = 0) -> bytes:
        return GoAwayFrame(0, last_stream_id=0, error_code=code).serialize()

    def feed(self, data: bytes) -> None:
        """Record frames of the server."""
        self._buffer += data
        while len(self._buffer) >= 9:
            frame, length = Frame.parse_frame_header(memoryview(self._buffer[:9]))
            if len(self._buffer) < 9 + length:
                break
            frame.parse_body(memoryview(self._buffer[9 : 9 + length]))
            self._buffer = self._buffer[9 + length :]
            self._record(frame)

    def stream(self, number: int) -> Received:
        return self.streams.setdefault(number, Received())

    def _record(self, frame: Any) -> None:
        is_ack = "ACK" in frame.flags
        match frame:
            case HeadersFrame():
                assert "END_HEADERS" in frame.flags
                received = self.stream(frame.stream_id)
                received.blocks.append({str(name): str(value) for name, value in self.decoder.decode(frame.data)})
                received.is_ended |= "END_STREAM" in frame.flags
            case DataFrame():
                received = self.stream(frame.stream_id)
                received.body += bytes(frame.data)
                received.is_ended |= "END_STREAM" in frame.flags
            case RstStreamFrame():
                self.stream(frame.stream_id).reset = frame.error_code
            case GoAwayFrame():
                self.goaways.append((frame.last_stream_id, frame.error_code))
            case PingFrame():
                (self.pongs if is_ack else self.pings).append(bytes(frame.opaque_data))
            case SettingsFrame():
                self.settings_acks += is_ack
                self.settings.update(frame.settings)
            case WindowUpdateFrame() if frame.stream_id:
                self.stream(frame.stream_id).window += frame.window_increment
            case WindowUpdateFrame():
                self.window += frame.window_increment
