"""Calls to a cluster in another process: one connection and one call at a time, a JSON document and bytes each way.

A frame is two lengths of four bytes, a JSON document, and binary data, e.g. a snapshot. A call ends
early when its connection closes.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Mapping

_log = logging.getLogger(__name__)

_LENGTHS: Final = struct.Struct("!II")
#: Socket of a cluster in its directory.
SOCKET_NAME: Final = "calls"
DOCUMENT_BYTES_MAX: Final = 64 << 20
BYTES_MAX: Final = 1 << 30
#: Maximum number of connections, i.e. concurrent calls.
CONNECTIONS_MAX: Final = 64


class Call(msgspec.Struct, frozen=True):
    """Request for a method."""

    method: str
    arguments: dict[str, Any] = {}


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Result of a call, or its error."""

    result: Any = None
    #: Class name of the exception; empty without an error.
    error: str = ""
    message: str = ""


_Document = TypeVar("_Document", Call, Answer)


class ChannelError(RuntimeError):
    """The connection ended, or the peer sent an invalid frame."""


def pack(document: Call | Answer, data: bytes = b"") -> bytes:
    """Return a frame. Raises ``ChannelError`` if it is too long."""
    encoded = msgspec.json.encode(document, enc_hook=str)
    if len(encoded) > DOCUMENT_BYTES_MAX or len(data) > BYTES_MAX:
        raise ChannelError(f"a frame of {len(encoded)} and {len(data)} bytes is too long")
    return _LENGTHS.pack(len(encoded), len(data)) + encoded + data


def call(sock: socket.socket, document: Call, data: bytes = b"") -> tuple[Answer, bytes]:
    """Send a call and wait for its answer, as long as the timeout of the socket. Raises ``ChannelError``, ``OSError``."""
    sock.sendall(pack(document, data))
    document_length, data_length = _lengths(_receive(sock, _LENGTHS.size))
    answer = _decoded(_receive(sock, document_length), Answer)
    return answer, _receive(sock, data_length)


def _decoded(document: bytes, type_: type[_Document]) -> _Document:
    try:
        return msgspec.json.decode(document, type=type_)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ChannelError(f"the document of a frame is no {type_.__name__}: {error}") from error


def _receive(sock: socket.socket, length: int) -> bytes:
    received = bytearray()
    while len(received) < length:
        chunk = sock.recv(min(length - len(received), 1 << 20))
        if not chunk:
            raise ChannelError("the cluster has ended")
        received += chunk
    return bytes(received)


def _lengths(packed: bytes) -> tuple[int, int]:
    document_length, data_length = _LENGTHS.unpack(packed)
    if document_length > DOCUMENT_BYTES_MAX or data_length > BYTES_MAX:
        raise ChannelError(f"a frame of {document_length} and {data_length} bytes is too long")
    return document_length, data_length


class CallServer:
    """Server of calls on a listening socket. Results of type bytes are sent after the document."""

    def __init__(self, methods: Mapping[str, Callable[..., Awaitable[Any]]]) -> None:
        """Methods receive the arguments of the call by name, and ``data`` if the call has bytes."""
        self._methods: Final = methods
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self, sock: socket.socket) -> None:
        """Start listening."""
        self._server = await asyncio.start_unix_server(self.serve_connection, sock=sock)

    async def close(self) -> None:
        """Stop listening, and cancel the calls."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the calls of one connection until it ends or sends an invalid frame."""
        try:
            if len(self._tasks) < CONNECTIONS_MAX:
                await self._serve_calls(reader, writer)
        except ChannelError as error:
            _log.debug("a caller is disconnected: %s", error)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the caller has closed the connection
        finally:
            writer.close()

    async def _serve_calls(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            document_length, data_length = _lengths(await reader.readexactly(_LENGTHS.size))
            request = _decoded(await reader.readexactly(document_length), Call)
            data = await reader.readexactly(data_length)
            task = asyncio.create_task(self._answer(request, data), name=f"call of {request.method}")
            self._tasks.add(task)
            disconnect = asyncio.create_task(reader.read(1), name="end of a caller")
            try:
                await asyncio.wait([task, disconnect], return_when=asyncio.FIRST_COMPLETED)
                if not task.done():
                    return
                writer.write(task.result())
                await writer.drain()
            finally:
                self._tasks.discard(task)
                for pending in (task, disconnect):
                    pending.cancel()
                    with suppress(asyncio.CancelledError, ConnectionError):
                        await pending

    async def _answer(self, request: Call, data: bytes) -> bytes:
        """Call the method; return the frame of the answer."""
        method = self._methods.get(request.method)
        if method is None:
            return pack(Answer(error="AttributeError", message=f"clusters have no method {request.method!r}"))
        try:
            result = await method(**request.arguments, **({"data": data} if data else {}))
            return pack(Answer(), result) if isinstance(result, bytes) else pack(Answer(result))
        except Exception as error:  # noqa: BLE001 — the caller raises it
            _log.debug("%s failed", request.method, exc_info=True)
            return pack(Answer(error=type(error).__name__, message=str(error)))
