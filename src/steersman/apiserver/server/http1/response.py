"""Framing of responses: status line, headers, and a body with Content-Length, chunked, or up to the end of the
connection.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence


def _status_line(code: int) -> bytes:
    try:
        phrase = HTTPStatus(code).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {code} {phrase}\r\n".encode()


_STATUS_LINES: Final = {code: _status_line(code) for code in range(100, 600)}
#: Status codes of responses without a body.
WITHOUT_BODY: Final = frozenset({204, 304})


def remaining_after(part: bytes, remaining_bytes: int, *, is_last: bool) -> int:
    """Return what remains of Content-Length after ``part``. Raises RuntimeError if it is too much or too little."""
    remaining_bytes -= len(part)
    if remaining_bytes < 0:
        raise RuntimeError("the body is longer than its length says")
    if is_last and remaining_bytes:
        raise RuntimeError("the body is shorter than its length says")
    return remaining_bytes


class ResponseFraming(ABC):
    """Response of one exchange in the framing of its protocol. The exchange checks the order of calls."""

    __slots__ = ("is_complete", "is_started", "keep_alive")

    def __init__(self, *, keep_alive: bool) -> None:
        #: The connection may serve another request after this response.
        self.keep_alive = keep_alive
        self.is_started = False
        self.is_complete = False

    @abstractmethod
    def begin(self, code: int, headers: Sequence[tuple[bytes, bytes]], date_line: bytes) -> None:
        """Write the head, or keep it for the first part of the body. Raises RuntimeError for headers with line ends."""

    @abstractmethod
    def write(self, part: bytes, *, is_last: bool) -> None:
        """Write a part of the body. Raises RuntimeError if the body differs from its Content-Length."""

    @abstractmethod
    def write_continue(self) -> None:
        """Write the interim response ``100 Continue``."""

    @abstractmethod
    def cut(self) -> None:
        """Cut off a response that cannot be completed."""


class ResponseWriter(ResponseFraming):
    """Writer of one response of HTTP/1.1 to a transport."""

    __slots__ = (
        "_drops_body",
        "_head",
        "_is_head_request",
        "_is_http10",
        "_remaining_bytes",
        "_transport",
        "is_chunked",
    )

    def __init__(
        self, transport: asyncio.Transport, *, is_head_request: bool, is_http10: bool, keep_alive: bool
    ) -> None:
        super().__init__(keep_alive=keep_alive)
        self._transport = transport
        self._is_head_request = is_head_request
        self._is_http10 = is_http10
        self.is_chunked = False
        #: Remaining bytes of Content-Length; negative without one.
        self._remaining_bytes = -1
        #: Response to HEAD, or with a status without body.
        self._drops_body = False
        #: Head of a response with Content-Length, written together with the first part of the body.
        self._head = b""

    def begin(self, code: int, headers: Sequence[tuple[bytes, bytes]], date_line: bytes) -> None:
        lines = [_STATUS_LINES.get(code) or _status_line(code)]
        has_body = not self._is_head_request and code not in WITHOUT_BODY
        length = -1
        closes = False
        for name, value in headers:
            if name == b"content-length":
                if code in WITHOUT_BODY:
                    continue  # RFC 9110, 8.6: not with 204; with 304 it would be the length of another response
                length = int(value)
            elif name == b"connection" and value == b"close":
                closes = True
            lines.append(b"%b: %b\r\n" % (name, value))
        is_chunked = has_body and length < 0 and not self._is_http10
        if closes or (has_body and length < 0 and self._is_http10):
            self.keep_alive = False
        if is_chunked:
            lines.append(b"transfer-encoding: chunked\r\n")
        if not self.keep_alive:
            if not closes:
                lines.append(b"connection: close\r\n")
        elif self._is_http10:
            lines.append(b"connection: keep-alive\r\n")
        if self._is_http10:
            lines[0] = b"HTTP/1.0" + lines[0][8:]
        head = b"".join(lines)
        # A line end would start another header, or the body.
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines) or head.find(b"\0") >= 0:
            raise RuntimeError("a header holds the end of a line")
        self.is_started = True
        self.is_chunked = is_chunked
        self._drops_body = not has_body
        head += date_line + b"\r\n"
        if length < 0 or not has_body:
            self._transport.write(head)
        else:
            self._remaining_bytes = length
            self._head = head

    def write(self, part: bytes, *, is_last: bool) -> None:
        if self.is_chunked:
            end = b"0\r\n\r\n" if is_last else b""
            part = b"%x\r\n%b\r\n%b" % (len(part), part, end) if part else end
        elif self._remaining_bytes >= 0:
            self._remaining_bytes = remaining_after(part, self._remaining_bytes, is_last=is_last)
            part = self._with_head(part)
        elif self._drops_body:
            part = b""
        if part:
            self._transport.write(part)
        if is_last:
            self.is_complete = True

    def write_continue(self) -> None:
        self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def cut(self) -> None:
        """Close the connection."""
        if not self._transport.is_closing():
            self._transport.close()

    def _with_head(self, part: bytes) -> bytes:
        """Return the bytes to write next: the head, unless written, and the part."""
        head = self._head
        if not head:
            return part
        self._head = b""
        if len(part) > WRITE_BYTES_MAX:
            self._transport.write(head)
            return part
        return head + part
