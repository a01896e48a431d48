"""SPDY/3.1 frames, as far as port forwarding needs them: bytes in, frames out, and back. No streams, no sockets.

kubectl speaks it inside a WebSocket. Flow control is not kept by its peers in the Kubernetes world and not kept here: who
reads slowly is held up by the connection below. https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/
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
#: A frame that says to be longer is an error: kubectl sends pieces of 32 KiB.
_FRAME_BYTES_MAX: Final = 1 << 20
_HEADERS_BYTES_MAX: Final = 1 << 16

#: Headers are compressed with these words known on both sides (section 2.6.10.1); each is told with its length.
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
    """What came is no SPDY/3.1."""


class Control(NamedTuple):
    """A control frame that concerns a stream, or all."""

    type: int
    stream: int
    flags: int
    headers: Mapping[str, str] = {}


class Data(NamedTuple):
    """A piece of a stream."""

    stream: int
    flags: int
    data: bytes


class Reader:
    """Frames out of bytes; a frame that is not whole waits for its rest."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._headers = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Control | Data]:
        """Whole frames of those that matter. Raises ``SpdyError``."""
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
            place, found = 4, {}
            for _ in range(struct.unpack_from("!I", text)[0]):
                words = []
                for _ in ("name", "value"):
                    length = struct.unpack_from("!I", text, place)[0]
                    words.append(text[place + 4 : place + 4 + length].decode())
                    place += 4 + length
                found[words[0]] = words[1]
        except (zlib.error, struct.error, UnicodeDecodeError) as error:
            raise SpdyError(f"headers: {error}") from error
        return found


class Writer:
    """Bytes of frames. One for each connection: the headers' compression remembers."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(zdict=DICTIONARY)

    def stream(self, stream: int, headers: Mapping[str, str], *, flags: int = 0) -> bytes:
        """Open a stream."""
        return _control(SYN_STREAM, flags, struct.pack("!IIH", stream, 0, 0) + self._block(headers))

    def reply(self, stream: int, headers: Mapping[str, str] | None = None) -> bytes:
        """Agree to a stream."""
        return _control(SYN_REPLY, 0, struct.pack("!I", stream) + self._block(headers or {}))

    def data(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        """A piece of a stream."""
        return struct.pack("!II", stream, (FIN if last else 0) << 24 | len(data)) + data

    def ping(self, number: int) -> bytes:
        """Ask whether the other side is there, or answer."""
        return _control(PING, 0, struct.pack("!I", number))

    def reset(self, stream: int, *, status: int) -> bytes:
        """End a stream at once."""
        return _control(RST_STREAM, 0, struct.pack("!II", stream, status))

    def _block(self, headers: Mapping[str, str]) -> bytes:
        text = [struct.pack("!I", len(headers))]
        for name, value in headers.items():
            for word in (name.lower().encode(), value.encode()):
                text += [struct.pack("!I", len(word)), word]
        return self._headers.compress(b"".join(text)) + self._headers.flush(zlib.Z_SYNC_FLUSH)


def _control(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack("!II", 1 << 31 | _VERSION << 16 | kind, flags << 24 | len(body)) + body
