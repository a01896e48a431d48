"""Bounds of one connection: sizes, and times as a parameter."""

from __future__ import annotations

from typing import Final

import msgspec

#: Request line and headers: Go's ``DefaultMaxHeaderBytes``, and the slack of its buffer.
HEAD_BYTES_MAX: Final = (1 << 20) + 4096
HEADERS_MAX: Final = 1000
#: Headers that a connection keeps, to recognize them in a later request.
REPEATED_HEADERS_BYTES_MAX: Final = 4096
#: Bytes after a request that are kept until its response is complete; then reading pauses.
PIPELINED_BYTES_MAX: Final = 64 * 1024
#: Bytes of a request body that the application has not received; then reading pauses.
BODY_BYTES_MAX: Final = 64 * 1024
#: Bytes of a request body that are read and dropped after the response. Upstream: ``maxPostHandlerReadBytes`` of net/http.
DISCARDED_BYTES_MAX: Final = 256 * 1024
#: Chunk extensions and trailers of one request, besides 16 bytes for each chunk and twice its data. Upstream:
#: ``chunkedReader.excess`` of net/http.
CHUNK_OVERHEAD_MAX: Final = 16 * 1024
CHUNK_OVERHEAD_EACH: Final = 16
#: Bytes of one write, and the high-water mark of the transport: a client that does not read costs about twice as much,
#: whatever the size of the response. Bodies up to this size are copied, to be one write together with the head.
WRITE_BYTES_MAX: Final = 64 * 1024
#: Bytes of a body that are written before other connections get their turn, even if the client takes them at once.
TURN_BYTES: Final = 8 * WRITE_BYTES_MAX


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Times after which a connection is closed, in seconds."""

    #: From the start of the connection, or the first byte of a request, to the end of its head. Upstream:
    #: ``ReadHeaderTimeout`` of SecureServingInfo.Serve.
    head: float = 32.0
    #: From the end of the head to the end of the body. Upstream: the request timeout.
    body: float = 60.0
    #: Between two requests. Upstream: ``IdleTimeout`` of SecureServingInfo.Serve.
    idle: float = 90.0
    #: For a client that does not read.
    write_stall: float = 60.0
    #: From the last response to the end of a connection with unread bytes. Upstream: ``rstAvoidanceDelay`` of net/http.
    linger: float = 0.5
