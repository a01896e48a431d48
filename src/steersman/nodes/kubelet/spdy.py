"""Codec of SPDY/3.1 frames, without streams and sockets.

Clients send them on an upgraded connection, or inside a WebSocket. Neither Kubernetes nor this module implements SPDY's
flow control; the transport provides back-pressure. Data is passed on as it arrives, independent of its frame's length; control
frames and their headers are bounded, so that a small frame cannot expand into a large block of headers.

https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_VERSION: Final = 3
SYN_STREAM: Final = 1
SYN_REPLY: Final = 2
RST_STREAM: Final = 3
PING: Final = 6
GOAWAY: Final = 7
HEADERS: Final = 8
FIN: Final = 0x01

#: Status codes of RST_STREAM.
PROTOCOL_ERROR: Final = 1
REFUSED_STREAM: Final = 3
CANCEL: Final = 5

#: Maximum length of a control frame.
_CONTROL_BYTES_MAX: Final = 1 << 16
#: Maximum length and number of decompressed headers of a frame.
_HEADERS_BYTES_MAX: Final = 1 << 16
_HEADERS_MAX: Final = 1000
_HEAD_BYTES: Final = 8
_STREAM_MASK: Final = 0x7FFFFFFF
#: Bytes before the headers in frames with headers.
_BEFORE_HEADERS: Final = {SYN_STREAM: 10, SYN_REPLY: 4, HEADERS: 4}
#: Minimum length of the supported frames.
_BYTES_MIN: Final = {**_BEFORE_HEADERS, RST_STREAM: 8, PING: 4, GOAWAY: 8}

#: Words of the compression dictionary of headers (section 2.6.10.1), each prefixed by its length.
_WORDS: Final = (  # noqa: SIM905 — a list of sixty literals is no better to read
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200~OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
).split(" ")
_NUMBERS: Final = (
    "100 101 201 202 205 206 300 302 303 304 305 306 307 402 405 406 407 408 409 410 411 412 413 414 415 416 417 502 "
    "504 505"
).replace(" ", "")
_PHRASES: Final = (
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug "
    "Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch"
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY: Final = (
    b"".join(struct.pack("!I", len(word)) + word.replace("~", " ").encode() for word in _WORDS)
    + (_NUMBERS + _PHRASES).encode()
)


class SpdyError(ValueError):
    """Malformed or unsupported SPDY frame; the connection is unusable."""


class Control(NamedTuple):
    """A control frame of a stream or the session."""

    type: int
    #: ID of the stream; of the ping in PING, of the last handled stream in GOAWAY.
    stream: int
    flags: int
    headers: Mapping[str, str] = {}
    #: Status code of RST_STREAM and GOAWAY.
    status: int = 0


class Data(NamedTuple):
    """Data frame, or part of one. Only the last part has the frame's flags."""

    stream: int
    flags: int
    data: bytes


class Reader:
    """Frame decoder. Buffers an incomplete control frame only."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._headers = zlib.decompressobj(zdict=DICTIONARY)
        #: Stream, flags and unread length of the current data frame.
        self._stream = self._flags = self._unread = 0

    def feed(self, data: bytes) -> Iterator[Control | Data]:
        """Yield frames of the supported types; others are skipped. Raises ``SpdyError``."""
        self._buffer += data
        while True:
            if self._unread:
                if not self._buffer:
                    return
                yield self._next_data()
                continue
            if len(self._buffer) < _HEAD_BYTES:
                return
            first, second = struct.unpack_from("!II", self._buffer)
            flags, length = second >> 24, second & 0xFFFFFF
            if not first >> 31:
                if frame := self._begin_data(first, flags, length):
                    yield frame
                continue
            if length > _CONTROL_BYTES_MAX:
                raise SpdyError(f"control frame of {length} bytes")
            if len(self._buffer) < _HEAD_BYTES + length:
                return
            body = bytes(self._buffer[_HEAD_BYTES : _HEAD_BYTES + length])
            del self._buffer[: _HEAD_BYTES + length]
            if (control := self._control(first, flags, body)) is not None:
                yield control

    def _begin_data(self, stream: int, flags: int, length: int) -> Data | None:
        """Begin a data frame; return it if it is empty."""
        if not stream:
            raise SpdyError("data frame of stream 0")
        del self._buffer[:_HEAD_BYTES]
        self._stream, self._flags, self._unread = stream, flags, length
        return None if length else Data(stream, flags, b"")

    def _next_data(self) -> Data:
        data = bytes(self._buffer[: self._unread])
        del self._buffer[: len(data)]
        self._unread -= len(data)
        return Data(self._stream, 0 if self._unread else self._flags, data)

    def _control(self, first: int, flags: int, body: bytes) -> Control | None:
        version, kind = first >> 16 & 0x7FFF, first & 0xFFFF
        if version != _VERSION:
            raise SpdyError(f"version {version}")
        if kind not in _BYTES_MIN:
            return None
        if len(body) < _BYTES_MIN[kind]:
            raise SpdyError(f"frame of type {kind} with {len(body)} bytes")
        stream = struct.unpack_from("!I", body)[0]
        if kind != PING:
            stream &= _STREAM_MASK
        if not stream and kind != GOAWAY:
            raise SpdyError(f"frame of type {kind} with ID 0")
        if kind in (RST_STREAM, GOAWAY):
            return Control(kind, stream, flags, status=struct.unpack_from("!I", body, 4)[0])
        skipped = _BEFORE_HEADERS.get(kind)
        return Control(kind, stream, flags, {} if skipped is None else self._headers_of(body[skipped:]))

    def _headers_of(self, block: bytes) -> dict[str, str]:
        """Decompress headers. Every block must be decoded, as the compression has one state for all of them."""
        try:
            text = self._headers.decompress(block, _HEADERS_BYTES_MAX)
        except zlib.error as error:
            raise SpdyError(f"headers: {error}") from error
        if self._headers.unconsumed_tail or self._headers.eof:
            raise SpdyError("headers: too long, or after their end")
        words = _read_words(text)
        names = words[::2]
        if len(set(names)) != len(names):
            raise SpdyError("headers: duplicate names")
        return dict(zip(names, words[1::2], strict=True))


def _read_words(text: bytes) -> list[str]:
    """Return names and values of headers in turn. Raises ``SpdyError``."""
    try:
        number = struct.unpack_from("!I", text)[0]
        if number > _HEADERS_MAX:
            raise SpdyError(f"headers: {number} of them")
        words, offset = [], 4
        for _ in range(2 * number):
            begin = offset + 4
            offset = begin + struct.unpack_from("!I", text, offset)[0]
            words.append(text[begin:offset].decode())
    except (struct.error, UnicodeDecodeError) as error:
        raise SpdyError(f"headers: {error}") from error
    if offset != len(text):
        raise SpdyError("headers: wrong length")
    return words


class Writer:
    """Frame encoder of one connection; the header compression is stateful."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(zdict=DICTIONARY)

    def stream(self, stream: int, headers: Mapping[str, str], *, flags: int = 0) -> bytes:
        """Encode SYN_STREAM."""
        return _control(SYN_STREAM, flags, struct.pack("!IIH", stream, 0, 0) + self._block(headers))

    def reply(self, stream: int) -> bytes:
        """Encode SYN_REPLY, without headers."""
        return _control(SYN_REPLY, 0, struct.pack("!I", stream) + self._block({}))

    def data(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        """Encode a data frame."""
        return struct.pack("!II", stream, (FIN if last else 0) << 24 | len(data)) + data

    def ping(self, number: int) -> bytes:
        """Encode PING, as request or reply."""
        return _control(PING, 0, struct.pack("!I", number))

    def goaway(self, last_stream: int) -> bytes:
        """Encode GOAWAY; streams after ``last_stream`` were not handled."""
        return _control(GOAWAY, 0, struct.pack("!II", last_stream, 0))

    def reset(self, stream: int, *, status: int) -> bytes:
        """Encode RST_STREAM."""
        return _control(RST_STREAM, 0, struct.pack("!II", stream, status))

    def _block(self, headers: Mapping[str, str]) -> bytes:
        text = [struct.pack("!I", len(headers))]
        for name, value in headers.items():
            for word in (name.lower().encode(), value.encode()):
                text += [struct.pack("!I", len(word)), word]
        return self._headers.compress(b"".join(text)) + self._headers.flush(zlib.Z_SYNC_FLUSH)


def _control(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack("!II", 1 << 31 | _VERSION << 16 | kind, flags << 24 | len(body)) + body
