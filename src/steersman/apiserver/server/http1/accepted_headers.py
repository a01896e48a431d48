"""Headers that a connection has accepted once and a later request repeats: they are not parsed again.

Clients send the same headers with each request of a connection, and the token of a service account alone has a kilobyte. Only
the parser's work is saved: credentials are checked for each request.
"""

from __future__ import annotations

import re
from typing import Final

from steersman.apiserver.server.http1.limits import HEAD_BYTES_MAX, REPEATED_HEADERS_BYTES_MAX

#: Request line that no rule rejects and whose path has no escapes: method, path and query.
PLAIN_REQUEST_LINE: Final = re.compile(
    rb"(GET|HEAD|POST|PUT|PATCH|DELETE) (/[\w.:/~-]*)(?:\?([\w.:/~%=&,+!-]*))? HTTP/1\.1"
)


class AcceptedHeaders:
    """Headers of a request of HTTP/1.1 after which its connection was kept, without an expectation or chunks."""

    __slots__ = ("_text", "body_bytes", "headers")

    def __init__(self, text: bytes, headers: list[tuple[bytes, bytes]], body_bytes: int) -> None:
        #: From the end of the request line to the end of the head.
        self._text: Final = text
        self.headers: Final = headers
        #: Content-Length; 0 without a body.
        self.body_bytes: Final = body_bytes

    def match(self, data: bytes, start: int) -> tuple[int, bytes, bytes, bytes] | None:
        """Return end, method, path and query of the head at ``start``; None if it must be parsed.

        The parser would accept such a head, and return the same headers.
        """
        line_end = data.find(b"\r", start)
        end = line_end + len(self._text)
        if not data.startswith(self._text, line_end) or end - start > HEAD_BYTES_MAX:
            return None
        line = PLAIN_REQUEST_LINE.fullmatch(data, start, line_end)
        if line is None:
            return None
        method, path, query = line.groups()
        return end, method, path, query or b""


def accepted_headers(head: bytes, headers: list[tuple[bytes, bytes]], body_bytes: int) -> AcceptedHeaders | None:
    """Return the headers of an accepted head; None if they are too long to be kept."""
    text = head[head.find(b"\r") :]
    return AcceptedHeaders(text, headers, body_bytes) if len(text) <= REPEATED_HEADERS_BYTES_MAX else None
