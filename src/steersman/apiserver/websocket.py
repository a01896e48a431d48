"""WebSockets (RFC 6455) as a server: the handshake, frames, and streams as messages.

Upstream: ``golang.org/x/net/websocket`` and ``k8s.io/apimachinery/pkg/util/httpstream/wsstream`` (``Reader``).
"""

from __future__ import annotations

import base64
from hashlib import sha1
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import Reason, bad_request, failure, plain_error
from steersman.apiserver.http import Response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from steersman.apiserver.http import Request

TEXT: Final = 0x1
BINARY: Final = 0x2
CLOSE: Final = 0x8
PING: Final = 0x9
PONG: Final = 0xA

#: Status code of a close frame (RFC 6455, 7.4.1).
_NORMAL_CLOSURE: Final = 1000
BINARY_PROTOCOL: Final = "binary.k8s.io"
BASE64_PROTOCOL: Final = "base64.binary.k8s.io"
#: Prefix of the subprotocol with a bearer token, which is never selected.
TOKEN_PREFIX: Final = "base64url.bearer.authorization.k8s.io."  # noqa: S105 — what comes before a token
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_FINAL: Final = 0x80


def is_websocket(request: Request) -> bool:
    """Report whether the client requests a WebSocket."""
    if request.header(b"upgrade").lower() != "websocket":
        return False
    words = ",".join(request.header_all(b"connection")).lower()
    return "upgrade" in {word.strip() for word in words.split(",")}


def frame(opcode: int, payload: bytes) -> bytes:
    """Encode a whole message, or a control frame, of a server."""
    size = len(payload)
    if size < 126:
        head = bytes((_FINAL | opcode, size))
    elif size < 1 << 16:
        head = bytes((_FINAL | opcode, 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((_FINAL | opcode, 127)) + size.to_bytes(8, "big")
    return head + payload


def close_frame() -> bytes:
    """Encode the frame that ends a connection."""
    return frame(CLOSE, _NORMAL_CLOSURE.to_bytes(2, "big"))


def accept_key(key: str) -> str:
    """Return the answer to a client's ``Sec-WebSocket-Key``."""
    return base64.b64encode(sha1(key.encode("latin-1") + _GUID).digest()).decode()  # noqa: S324 — as the RFC says


def offered_protocols(request: Request) -> list[str]:
    """Return the subprotocols that the client offers, without its token."""
    values = request.header_all(b"sec-websocket-protocol")
    names = [name.strip() for value in values for name in value.split(",")]
    return [name for name in names if name and not name.startswith(TOKEN_PREFIX)]


def watch_over_websocket(request: Request, events: AsyncIterator[bytes], *, is_binary: bool = False) -> Response:
    """Respond with 101 and send each event as a message: JSON as text, or binary if events are length-delimited. Raises 400.

    As upstream, any offered subprotocol is accepted and ignored.
    """
    offered = offered_protocols(request)
    chosen = next((name for name in offered if name in (BINARY_PROTOCOL, BASE64_PROTOCOL)), "")
    if len(offered) == 1:
        chosen = offered[0]
    elif offered and not chosen:
        raise bad_request(f"requested protocol(s) are not supported: {_listed(offered)}")
    return _switch(request, chosen, Messages(events, _binary_of_frames if is_binary else _text_of_lines))


def bytes_over_websocket(request: Request, pieces: AsyncIterator[bytes]) -> Response:
    """Respond with 101 and send the pieces of a stream after an empty message, binary or base64. Raises 400, 403."""
    offered = offered_protocols(request)
    supported = (BINARY_PROTOCOL, BASE64_PROTOCOL)
    chosen = next((name for name in offered if name in supported), "")
    if offered and not chosen:
        message = f"requested protocol(s) are not supported: {_listed(offered)}; supports {_listed(supported)}"
        raise failure(403, Reason.FORBIDDEN, message)
    encode = _text_in_base64 if chosen == BASE64_PROTOCOL else _binary
    return _switch(request, chosen, Messages(pieces, encode, first=encode(b"")))


def _switch(request: Request, protocol: str, messages: Messages) -> Response:
    key = request.header(b"sec-websocket-key")
    if not key:
        raise bad_request("missing Sec-WebSocket-Key")
    if request.header(b"sec-websocket-version") != "13":
        raise bad_request("missing or bad WebSocket Version")
    if "steersman.upgrade" not in request.scope.get("extensions", {}):
        raise plain_error("unable to upgrade: the connection cannot be taken over")
    headers = [
        (b"upgrade", b"websocket"),
        (b"connection", b"Upgrade"),
        (b"sec-websocket-accept", accept_key(key).encode()),
    ]
    if protocol:
        headers.append((b"sec-websocket-protocol", protocol.encode("latin-1")))
    return Response(101, content_type=b"", headers=headers, stream=messages)


class Messages:
    """Encoded messages of a stream: an async iterator that owns the stream."""

    def __init__(self, stream: AsyncIterator[bytes], encode: Callable[[bytes], bytes], *, first: bytes = b"") -> None:
        self._stream = stream
        self._encode = encode
        self._first = first

    def __aiter__(self) -> Messages:
        return self

    async def __anext__(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        while True:
            encoded = self._encode(await anext(self._stream))
            if encoded:
                return encoded

    async def aclose(self) -> None:
        """Close the stream."""
        aclose = getattr(self._stream, "aclose", None)
        if aclose is not None:
            await aclose()


def _text_of_lines(piece: bytes) -> bytes:
    """Encode one message per line, including its line end, as upstream's JSON encoder writes it."""
    return b"".join([frame(TEXT, line) for line in piece.splitlines(keepends=True)])


def _binary_of_frames(piece: bytes) -> bytes:
    """Encode one message per event, without its length prefix of four bytes."""
    messages = []
    start = 0
    while start < len(piece):
        end = start + 4 + int.from_bytes(piece[start : start + 4], "big")
        messages.append(frame(BINARY, piece[start + 4 : end]))
        start = end
    return b"".join(messages)


def _binary(piece: bytes) -> bytes:
    return frame(BINARY, piece)


def _text_in_base64(piece: bytes) -> bytes:
    return frame(TEXT, base64.b64encode(piece))


def _listed(names: Sequence[str]) -> str:
    return f"[{' '.join(names)}]"
