"""Requests that Go's ``net/http`` rejects before the handler.

Upstream: ``readRequest`` and ``Server.serve`` of Go's net/http/server.go, and ``httpguts``. httptools parses the bytes;
requests that it rejects and Go accepts are listed in ``docs/compatibility.md``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import httptools
import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Characters of a host.
HOST: Final = re.compile(rb"[A-Za-z0-9!$%&'()*+,\-.:;=\[\]_~]*")
_BAD_ESCAPE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_ABSOLUTE: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]*://[^/?]*")
_REQUEST_LINE: Final = re.compile(rb"\A[^\r\n]*")
_VERSION: Final = re.compile(rb" HTTP/(\d\.\d)\r?\Z")
#: Line that ends with LF alone: the parser rejects it, Go accepts it.
BARE_LF: Final = re.compile(rb"(?<!\r)\n")
_CODING: Final = re.compile(rb"(?im)^transfer-encoding:[ \t]*([ -~]*?)[ \t]*\r$")
_HIGH_BYTE: Final = re.compile(rb"[\x80-\xff]")


class Refusal(msgspec.Struct, frozen=True):
    """Text response that ends the connection of HTTP/1.1. ``body`` defaults to the code and its text."""

    code: int
    text: bytes
    body: bytes | None = None

    @property
    def content(self) -> bytes:
        """Return the body of the response."""
        return b"%d %s" % (self.code, self.text) if self.body is None else self.body

    def encode(self) -> bytes:
        """Encode the response."""
        status = b"%d %s" % (self.code, self.text)
        body = self.content
        head = (
            b"HTTP/1.1 %s\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
        )
        return head % (status, len(body)) + body


BAD_REQUEST: Final = Refusal(400, b"Bad Request")
TOO_LARGE: Final = Refusal(431, b"Request Header Fields Too Large")
_NO_HOST: Final = Refusal(400, b"Bad Request: missing required Host header")
BAD_HOST: Final = Refusal(400, b"Bad Request: malformed Host header")
_VERSION_UNSUPPORTED: Final = Refusal(505, b"HTTP Version Not Supported: unsupported protocol version")
_TRANSFER_ENCODING: Final = Refusal(501, b"Not Implemented", b"Unsupported transfer encoding")
_EXPECTATION: Final = Refusal(417, b"Expectation Failed", b"")
#: ``OPTIONS *`` applies to the server and not to a path.
GENERAL_OPTIONS: Final = Refusal(200, b"OK", b"")


def split_target(target: bytes) -> tuple[bytes, bytes] | None:
    """Return path and query of a request target; None if malformed. ``#`` has no special meaning.

    Upstream: ``url.ParseRequestURI``.
    """
    if not target.startswith(b"/"):
        if target == b"*":
            return target, b""
        match = _ABSOLUTE.match(target)
        if match is None:
            return None
        target = target[match.end() :]
    path, _, query = target.partition(b"?")
    # find(): ``in`` formats an error inside CPython before it takes the operand for bytes.
    return None if path.find(b"%") >= 0 and _BAD_ESCAPE.search(path) else (path, query)


def http_version(line: bytes) -> str:
    """Return the version at the end of a request line; empty without one or for another protocol."""
    match = _VERSION.search(line)
    return "" if match is None else match.group(1).decode("ascii")


def refusal_of_head(
    method: bytes, target: bytes, version: str, headers: Sequence[tuple[bytes, bytes]]
) -> Refusal | None:
    """Return the rejection of a well-formed head; None if it is accepted. ``version``: of ``http_version``."""
    if version not in ("1.1", "1.0"):
        return _VERSION_UNSUPPORTED if version else BAD_REQUEST
    host: bytes | None = None
    expectation = b""
    for name, value in headers:
        if name == b"host":
            if host is not None:
                return BAD_REQUEST
            host = value
        elif name == b"expect":
            expectation = value
        elif name == b"transfer-encoding":
            if version == "1.0":
                return BAD_REQUEST  # RFC 9112, 6.1: faulty framing; HTTP/1.0 proxies may have ignored it
            if value.lower() != b"chunked":
                return _TRANSFER_ENCODING
    if host is None:
        if version == "1.1" and method != b"CONNECT":
            return _NO_HOST
    elif HOST.fullmatch(host) is None:
        return BAD_HOST
    if expectation and expectation.lower() != b"100-continue":
        return _EXPECTATION
    return GENERAL_OPTIONS if method == b"OPTIONS" and target == b"*" else None


def refusal_of_malformed_head(head: bytes) -> Refusal:
    """Return the rejection of a head that the parser calls malformed; that of its first line if the error is there."""
    return refusal_of_request_line(head[: head.find(b"\n") + 1]) or refusal_of_bytes(head)


def refusal_of_request_line(line: bytes) -> Refusal | None:
    """Return the rejection of a malformed request line; None if it is well-formed."""
    try:
        httptools.HttpRequestParser(None).feed_data(escape_request_line(line))
    except httptools.HttpParserError:
        return refusal_of_bytes(line)
    return None


def refusal_of_bytes(data: bytes) -> Refusal:
    """Return the rejection of bytes by version and transfer encoding, regardless of other errors."""
    line = _REQUEST_LINE.match(data)
    version = "" if line is None else http_version(line.group())
    if version and not version.startswith("1."):
        return _VERSION_UNSUPPORTED
    # A bare LF rejects a head before the rest arrives, so the rest has no effect.
    bare_lf = BARE_LF.search(data)
    codings = [value.lower() for value in _CODING.findall(data, 0, len(data) if bare_lf is None else bare_lf.end())]
    return _TRANSFER_ENCODING if codings and codings != [b"chunked"] else BAD_REQUEST


def escape_request_line(head: bytes) -> bytes:
    """Percent-encode bytes beyond ASCII in the first line.

    Go accepts them in paths and queries, and decodes both forms alike; the parser rejects them.
    """
    line, end, rest = head.partition(b"\n")
    return _HIGH_BYTE.sub(lambda match: b"%%%02X" % match.group()[0], line) + end + rest
