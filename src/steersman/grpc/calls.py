"""gRPC calls, each an HTTP/2 stream: unary calls and bidirectional streams."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from steersman.grpc.errors import Code, RpcError, code_of, code_of_http

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.grpc.headers import Headers

#: Size of a message prefix: compressed flag and length.
PREFIX_BYTES: Final = 5


def framed(message: bytes) -> bytes:
    """Return a message with its prefix."""
    return b"\0" + len(message).to_bytes(4, "big") + message


class Call:
    """State of a stream, driven by the connection."""

    def __init__(self) -> None:
        #: Number of the stream; 0 before it is opened.
        self.number = 0
        #: Remaining send window of this stream in bytes.
        self.send_window = 0
        #: Framed messages pending for the peer's window, and True if the last one ends this side.
        self.unsent = b""
        self.ends_after_unsent = False
        #: Received bytes without a window update to the peer.
        self.uncredited = 0
        self._http_status = "200"

    def on_headers(self, headers: Headers, *, is_last: bool) -> None:
        """Receive the headers of the response, or its trailers."""
        if is_last:
            self.finish(self._status(headers))
        else:
            self._http_status = headers.get(":status", "200")

    def on_data(self, payload: bytes) -> int:
        """Receive a part of the body; return the number of consumed bytes. Raises ``RpcError``."""
        raise NotImplementedError

    def finish(self, error: RpcError | None) -> None:
        """End the call: with an error, or None after the status OK."""
        raise NotImplementedError

    def _status(self, trailers: Headers) -> RpcError | None:
        status = trailers.get("grpc-status")
        if status == "0":
            return None
        if status is None:
            http = trailers.get(":status", self._http_status)
            return RpcError(code_of_http(http), f"the response has no gRPC status, HTTP status {http}")
        return RpcError(code_of(status), unquote(trailers.get("grpc-message", "")))


class UnaryCall(Call):
    """One request, one response."""

    def __init__(self) -> None:
        super().__init__()
        self.response: Final[asyncio.Future[bytes]] = asyncio.get_running_loop().create_future()
        self._parts: list[bytes] = []

    def on_data(self, payload: bytes) -> int:
        self._parts.append(payload)
        return len(payload)

    def finish(self, error: RpcError | None) -> None:
        if self.response.done():
            return
        if error is None:
            body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            if len(body) >= PREFIX_BYTES and not body[0] and int.from_bytes(body[1:5], "big") == len(body) - 5:
                self.response.set_result(body[PREFIX_BYTES:])
                return
            error = RpcError(Code.INTERNAL, "the response is not one uncompressed message")
        self.response.set_exception(error)


class StreamCall(Call):
    """Bidirectional stream. Unread messages limit the peer by flow control (``credit``)."""

    def __init__(self, send: Callable[[StreamCall, bytes], None], cancel: Callable[[Call], None]) -> None:
        super().__init__()
        self._send = send
        self._cancel = cancel
        #: Unread messages with the bytes to credit; bounded by the stream's window.
        self._messages: deque[tuple[bytes, int]] = deque()
        self._partial = bytearray()
        #: Bytes of the partial message that are credited already: a message may be larger than the window.
        self._credited = 0
        self._error: RpcError | None = None
        self._is_ended = False
        self._reader: asyncio.Future[None] | None = None
        self.credit: Callable[[Call, int], None]

    def send(self, message: bytes) -> None:
        """Send a message; it is buffered until the peer's window allows it. No effect after the end of the call."""
        if not self._is_ended:
            self._send(self, framed(message))

    async def read(self) -> bytes | None:
        """Return the next message; None if the call has ended with OK or was cancelled by this side. Raises ``RpcError``."""
        while not self._messages:
            if self._error is not None:
                raise self._error
            if self._is_ended:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        message, size = self._messages.popleft()
        self.credit(self, size)
        return message

    def cancel(self) -> None:
        """Cancel the call and drop unread messages. Idempotent."""
        if not self._is_ended:
            self._is_ended = True
            self._cancel(self)
        self._messages.clear()
        self._error = None
        self._wake()

    def on_data(self, payload: bytes) -> int:
        if not self._partial and len(payload) >= PREFIX_BYTES and _size(payload) == len(payload):
            self._messages.append((payload[PREFIX_BYTES:], len(payload)))
            self._wake()
            return 0
        self._partial += payload
        while len(self._partial) >= PREFIX_BYTES:
            size = _size(self._partial)
            if size > len(self._partial):
                break
            self._messages.append((bytes(self._partial[PREFIX_BYTES:size]), size - self._credited))
            self._credited = 0
            del self._partial[:size]
            self._wake()
        consumed = len(self._partial) - self._credited
        self._credited = len(self._partial)
        return consumed

    def finish(self, error: RpcError | None) -> None:
        if not self._is_ended:
            self._is_ended = True
            self._error = error
            self._wake()

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)


def _size(message: bytes | bytearray) -> int:
    """Return the size of the framed message that begins there. Raises ``RpcError``."""
    if message[0]:
        raise RpcError(Code.INTERNAL, "a message is compressed, which was not offered")
    return PREFIX_BYTES + int.from_bytes(message[1:5], "big")
