"""Request bodies: the buffer between connection and application, and the end of chunked bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.server.http1.limits import CHUNK_OVERHEAD_EACH, CHUNK_OVERHEAD_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence


class RequestBody:
    """Body bytes that the application has not received."""

    __slots__ = ("_parts", "is_complete", "missing_bytes", "size")

    def __init__(self, length: int = 0) -> None:
        """``length``: Content-Length; 0 for a chunked body."""
        self._parts: list[bytes] = []
        self.size = 0
        #: Bytes of Content-Length that the connection has not received.
        self.missing_bytes = length
        #: The body is complete.
        self.is_complete = False

    def add(self, part: bytes) -> None:
        """Append bytes."""
        self._parts.append(part)
        self.size += len(part)
        self.missing_bytes -= len(part)

    def take(self) -> bytes:
        """Return and clear all bytes."""
        parts = self._parts
        self._parts = []
        self.size = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)


class ChunkedFraming:
    """Position within a chunked body.

    The bytes are split after each empty line, as the message can only end there.
    """

    __slots__ = ("_chunks", "_data", "_total")

    def __init__(self) -> None:
        self._total = 0
        self._data = 0
        self._chunks = 0

    def next_end(self, data: bytes, start: int) -> int:
        """Return the end of the bytes from ``start`` that may be parsed together, and count them."""
        end = _after_empty_line(data, start)
        self._total += end - start
        return end

    def add_chunk(self) -> None:
        """Count the start of a chunk."""
        self._chunks += 1

    def add_data(self, size: int) -> None:
        """Count bytes of the body itself."""
        self._data += size

    @property
    def has_excess(self) -> bool:
        """True if chunk extensions and trailers are too large."""
        return self._total - 3 * self._data > CHUNK_OVERHEAD_MAX + CHUNK_OVERHEAD_EACH * self._chunks


def _after_empty_line(data: bytes, start: int) -> int:
    """Return the position after the next empty line, or the end. A line end at the start may complete an empty line."""
    if data.startswith(b"\r\n", start):
        return start + 2
    if data.startswith(b"\n", start):
        return start + 1
    end = data.find(b"\n\r\n", start)
    return len(data) if end < 0 else end + 3


def body_headers(headers: Sequence[tuple[bytes, bytes]]) -> tuple[int | None, bool]:
    """Return Content-Length (None without one), and whether the client expects ``100 Continue``.

    The parser has accepted the headers, so there is at most one Content-Length, and it is a number.
    """
    length: int | None = None
    expects_100 = False
    for name, value in headers:
        if name == b"content-length":
            length = int(value)
        elif name == b"expect":
            expects_100 = True
    return length, expects_100
