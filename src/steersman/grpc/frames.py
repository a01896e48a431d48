"""Frames of HTTP/2 that a client sends, as bytes (RFC 9113, sections 4 and 6)."""

from __future__ import annotations

from typing import Final

DATA: Final = 0x0
HEADERS: Final = 0x1
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITY: Final = 0x20

HEADER_BYTES: Final = 9
#: Maximum payload that every peer accepts, and that this client accepts.
PAYLOAD_MAX: Final = 16384
WINDOW_MAX: Final = (1 << 31) - 1
#: Initial flow-control window of the connection, and of streams before settings change it.
INITIAL_WINDOW: Final = 65535

SETTING_TABLE_SIZE: Final = 0x1
SETTING_ENABLE_PUSH: Final = 0x2
SETTING_MAX_STREAMS: Final = 0x3
SETTING_INITIAL_WINDOW: Final = 0x4
SETTING_MAX_FRAME: Final = 0x5

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

# Error codes (RFC 9113, section 7).
NO_ERROR: Final = 0x0
PROTOCOL_ERROR: Final = 0x1
FLOW_CONTROL_ERROR: Final = 0x3
FRAME_SIZE_ERROR: Final = 0x6
CANCEL: Final = 0x8
COMPRESSION_ERROR: Final = 0x9


class ProtocolError(ValueError):
    """The peer violates HTTP/2; the connection ends with ``code``."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return a frame."""
    return (
        len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload  # header, payload
    )


def window_update(stream: int, increment: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, increment.to_bytes(4, "big"))


def rst_stream(stream: int, error_code: int) -> bytes:
    return frame(RST_STREAM, 0, stream, error_code.to_bytes(4, "big"))


def goaway(error_code: int) -> bytes:
    """Return a GOAWAY of a client, to which no stream was pushed."""
    return frame(GOAWAY, 0, 0, bytes(4) + error_code.to_bytes(4, "big"))


def settings(*pairs: tuple[int, int]) -> bytes:
    payload = b"".join([number.to_bytes(2, "big") + value.to_bytes(4, "big") for number, value in pairs])
    return frame(SETTINGS, 0, 0, payload)


def read_settings(payload: bytes) -> list[tuple[int, int]]:
    """Return numbers and values. Raises ``ProtocolError``."""
    if len(payload) % 6:
        raise ProtocolError(FRAME_SIZE_ERROR, "SETTINGS of a broken size")
    return [
        (int.from_bytes(payload[at : at + 2], "big"), int.from_bytes(payload[at + 2 : at + 6], "big"))
        for at in range(0, len(payload), 6)
    ]


def without_padding(flags: int, payload: bytes, *, has_priority: bool = False) -> bytes:
    """Return the content of a DATA or HEADERS frame. Raises ``ProtocolError``."""
    start, end = 0, len(payload)
    if flags & PADDED:
        if not payload:
            raise ProtocolError(FRAME_SIZE_ERROR, "a padded frame without a length of its padding")
        start, end = 1, end - payload[0]
    if has_priority:
        start += 5
    if start > end:
        raise ProtocolError(PROTOCOL_ERROR, "a frame with more padding than content")
    return payload[start:end]
