"""Codec of SPDY/3.1 frames for port forwarding, without streams and sockets.

kubectl sends them inside a WebSocket. Neither Kubernetes nor this module implements SPDY's flow control; the transport
provides back-pressure. https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
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
FIN: Final = 0x01
#: Maximum length of a frame; kubectl sends frames of 32 KiB.
_FRAME_BYTES_MAX: Final = 1 << 20
_HEADERS_BYTES_MAX: Final = 1 << 16

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
    """Malformed or unsupported SPDY frame."""


class Control(NamedTuple):
    """A control frame of a stream or the session."""

    type: int
    stream: int
    flags: int
    headers: Mapping[str, str] = {}


class Data(NamedTuple):
    """A data frame."""

    stream: int
    flags: int
    data: bytes


class Reader:
    """Frame decoder; buffers an incomplete frame."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._headers = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Control | Data]:
        """Yield complete frames of the supported types. Raises ``SpdyError``."""
        self._buffer += data
        while len(self._buffer) >= 8:
            first, second = struct.unpack_from("!II", self._buffer)
            flags, length = second >> 24, second & 0xFFFFFF
            if length > _FRAME_BYTES_MAX:
                raise SpdyError(f"a frame of {length} bytes")
            if len(self._buffer) < 8 + length:
                return
            body = bytes(self._buffer[8 : 8 + length])
            del self._buffer[: 8 + length]
            if not first >> 31:
                yield Data(first, flags, body)
            elif (control := self._control(first, flags, body)) is not None:
                yield control

    def _control(self, first: int, flags: int, body: bytes) -> Control | None:
        version, kind = first >> 16 & 0x7FFF, first & 0xFFFF
        if version != _VERSION:
            raise SpdyError(f"version {version}")
        if kind not in (SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY):
            return None
        skipped = {SYN_STREAM: 10, SYN_REPLY: 4}.get(kind)
        if len(body) < (skipped or 4):
            raise SpdyError("a frame is too short")
        stream = struct.unpack_from("!I", body)[0] & 0x7FFFFFFF
        return Control(kind, stream, flags, {} if skipped is None else self._headers_of(body[skipped:]))

    def _headers_of(self, block: bytes) -> dict[str, str]:
        try:
            text = self._headers.decompress(block, _HEADERS_BYTES_MAX)
            offset, headers = 4, {}
            for _ in range(struct.unpack_from("!I", text)[0]):
                words = []
                for _ in ("name", "value"):
                    length = struct.unpack_from("!I", text, offset)[0]
                    words.append(text[offset + 4 : offset + 4 + length].decode())
                    offset += 4 + length
                headers[words[0]] = words[1]
        except (zlib.error, struct.error, UnicodeDecodeError) as error:
            raise SpdyError(f"headers: {error}") from error
        return headers


class Writer:
    """Frame encoder of one connection; the header compression is stateful."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(zdict=DICTIONARY)

    def stream(self, stream: int, headers: Mapping[str, str], *, flags: int = 0) -> bytes:
        """Encode SYN_STREAM."""
        return _control(SYN_STREAM, flags, struct.pack("!IIH", stream, 0, 0) + self._block(headers))

    def reply(self, stream: int, headers: Mapping[str, str] | None = None) -> bytes:
        """Encode SYN_REPLY."""
        return _control(SYN_REPLY, 0, struct.pack("!I", stream) + self._block(headers or {}))

    def data(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        """Encode a data frame."""
        return struct.pack("!II", stream, (FIN if last else 0) << 24 | len(data)) + data

    def ping(self, number: int) -> bytes:
        """Encode PING, as request or reply."""
        return _control(PING, 0, struct.pack("!I", number))

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
