"""Validation of request heads.

Upstream: ``checkPseudos`` and ``readMetaFrame`` of golang.org/x/net/http2/frame.go, ``newWriterAndRequest`` and
``checkValidHTTP2RequestHeaders`` of server.go. Paths and hosts follow the rules of ``http1.rules``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apiserver.server.http1.limits import HEADERS_MAX
from steersman.apiserver.server.http1.rules import BAD_HOST, GENERAL_OPTIONS, HOST, TOO_LARGE, Refusal, split_target

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

_PSEUDO: Final = frozenset({b":method", b":scheme", b":authority", b":path"})
_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_METHOD: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_BAD_VALUE: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_BAD_PATH: Final = re.compile(rb"[\x00-\x20\x7f]")
_HIGH_BYTE: Final = re.compile(rb"[\x80-\xff]")
_ADEQUATE_CIPHER: Final = re.compile("(ECDHE|DHE)-.*(GCM|CHACHA20|CCM)")
#: Headers of the connection, with the names of their rejections. Upstream: ``connHeaders``.
CONNECTION_HEADERS: Final = {
    b"connection": b"Connection",
    b"proxy-connection": b"Proxy-Connection",
    b"transfer-encoding": b"Transfer-Encoding",
    b"upgrade": b"Upgrade",
    b"keep-alive": b"Keep-Alive",
}
_TE: Final = Refusal(400, b"Bad Request", b'request header "TE" may only be "trailers" in HTTP/2\n')
_CONNECT: Final = Refusal(400, b"Bad Request", b"CONNECT is not supported\n")


def is_adequate(tls: ssl.SSLObject | None) -> bool:
    """Report whether TLS 1.2 has an ephemeral key exchange and an AEAD cipher. Upstream: ``isBadCipher`` of ciphers.go."""
    if tls is None or tls.version() != "TLSv1.2":
        return True
    cipher = tls.cipher()
    return cipher is not None and _ADEQUATE_CIPHER.match(cipher[0]) is not None


class RequestHead(NamedTuple):
    """Accepted head of a request."""

    method: str
    path: bytes
    query: bytes
    #: With ``host`` in place of ``:authority``.
    headers: list[tuple[bytes, bytes]]
    #: The client waits for ``100 Continue``.
    expects_100: bool


def request_head(block: Iterable[tuple[bytes, bytes]]) -> RequestHead | Refusal | None:
    """Return the head of a request, or its rejection; None if it is malformed, which ends the stream."""
    pseudo: dict[bytes, bytes] = {}
    headers: list[tuple[bytes, bytes]] = []
    refusal: Refusal | None = None
    expects_100 = False
    host: bytes | None = None
    for name, value in block:
        if _BAD_VALUE.search(value):
            return None
        if name.startswith(b":"):
            if headers or name not in _PSEUDO or name in pseudo:
                return None
            pseudo[name] = value
            continue
        if _NAME.fullmatch(name) is None:
            return None
        headers.append((name, value))
        if name in CONNECTION_HEADERS:
            refusal = refusal or _connection_header(CONNECTION_HEADERS[name])
        elif name == b"te":
            refusal = refusal or (None if value in (b"trailers", b"") else _TE)
        elif name == b"expect":
            expects_100 = value.lower() == b"100-continue"
        elif name == b"host":
            host = value if host is None else host
    return _checked(pseudo, headers, host, refusal, expects_100=expects_100)


def _checked(
    pseudo: dict[bytes, bytes],
    headers: list[tuple[bytes, bytes]],
    host: bytes | None,
    refusal: Refusal | None,
    *,
    expects_100: bool,
) -> RequestHead | Refusal | None:
    """Check the pseudo-headers of a well-formed block."""
    method = pseudo.get(b":method", b"")
    path = pseudo.get(b":path", b"")
    authority = pseudo.get(b":authority")
    if method == b"CONNECT":
        return None if path or b":scheme" in pseudo or not authority else _CONNECT
    if _METHOD.fullmatch(method) is None or not path or pseudo.get(b":scheme") not in (b"https", b"http"):
        return None
    if _BAD_PATH.search(path):
        return None
    if not path.isascii():
        path = _HIGH_BYTE.sub(lambda match: b"%%%02X" % match.group()[0], path)
    target = split_target(path)
    if target is None:
        return None
    if len(headers) > HEADERS_MAX:
        return TOO_LARGE
    if authority:  # takes precedence
        if host is not None:
            headers = [header for header in headers if header[0] != b"host"]
        headers.insert(0, (b"host", authority))
        host = authority
    if host is not None and HOST.fullmatch(host) is None:
        return BAD_HOST
    if refusal is None and path == b"*" and method == b"OPTIONS":
        return GENERAL_OPTIONS
    return refusal or RequestHead(method.decode("ascii"), *target, headers, expects_100)


def _connection_header(name: bytes) -> Refusal:
    return Refusal(400, b"Bad Request", b'request header "%b" is not valid in HTTP/2\n' % name)
