"""Streams of one SPDY/3.1 connection that the client opens; the kubelet opens none.

Frames are read by ``Session.run`` and written by any task. A stream whose reader is slow blocks the session, and thereby
the client: there is no flow control by stream, here as in Kubernetes (``spdystream``).

Bounds: ``_STREAMS_MAX`` open streams, further ones are refused; the ``Inbox`` of a stream; a session without
frames in either direction for ``_IDLE_SECONDS`` is closed, as by the kubelet's ``streamingConnectionIdleTimeout``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final, Protocol

from steersman.asynckit.tasks import Supervisor
from steersman.nodes.kubelet import spdy
from steersman.nodes.kubelet.client_input import Inbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from steersman.asynckit.clock import Clock

_STREAMS_MAX: Final = 512
_CHUNK_BYTES: Final = 32 * 1024
_IDLE_SECONDS: Final = 4 * 3600.0

_log = logging.getLogger(__name__)


class Connection(Protocol):
    """Transport of a session's bytes."""

    def receive(self) -> AsyncIterator[bytes]:
        """Yield data until the client disconnects."""

    async def send(self, data: bytes) -> None:
        """Send data; wait for a slow client. Raises ``OSError``."""

    def abort(self) -> None:
        """Close without waiting for the client; ends ``receive``."""


class Stream:
    """A stream of a session, readable and writable until it is closed or reset."""

    def __init__(self, session: Session, stream_id: int, headers: Mapping[str, str]) -> None:
        self.id: Final = stream_id
        self.headers: Final = headers
        self.inbox: Final = Inbox()
        #: Set when either side resets the stream, or the connection ends.
        self.was_reset: Final = asyncio.Event()
        self.is_closed = False
        self.is_closed_by_client = False
        self._session = session

    async def read(self) -> bytes:
        """Return the next data; empty at its end."""
        return await self.inbox.read()

    async def write(self, data: bytes) -> None:
        """Send data; it is dropped after the end of the stream."""
        for start in range(0, len(data), _CHUNK_BYTES):
            if not self.is_closed and not self.was_reset.is_set():
                await self._session.send_data(self, data[start : start + _CHUNK_BYTES])

    async def close(self) -> None:
        """End this side of the stream. Idempotent."""
        if not self.is_closed and not self.was_reset.is_set():
            self.is_closed = True
            await self._session.send_data(self, b"", last=True)

    async def reset(self, status: int = spdy.CANCEL) -> None:
        """End both sides of the stream. Idempotent."""
        await self._session.reset(self, status)


class Session:
    """Session of one connection.

    ``accepts`` accepts or rejects a stream by its headers; ``opened`` receives it after the reply was sent.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        accepts: Callable[[Mapping[str, str]], bool],
        opened: Callable[[Stream], None],
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._accepts = accepts
        self._opened = opened
        self._clock = clock
        self._reader, self._writer = spdy.Reader(), spdy.Writer()
        self._streams: dict[int, Stream] = {}
        self._last_stream = 0
        self._last_frame = clock.monotonic()

    async def run(self) -> None:
        """Serve frames until the client disconnects, sends GOAWAY or a malformed frame, or is idle."""
        tasks = Supervisor("SPDY session")
        tasks.start("idle timeout", self._watch_idle())
        try:
            async for data in self._connection.receive():
                self._last_frame = self._clock.monotonic()
                for frame in self._reader.feed(data):
                    if isinstance(frame, spdy.Control) and frame.type == spdy.GOAWAY:
                        return
                    await self._handle(frame)
        except spdy.SpdyError as error:
            _log.info("SPDY session closed: %s", error)
            await self._send(self._writer.goaway(self._last_stream))
        finally:
            await tasks.close()
            for stream in self._streams.values():
                stream.was_reset.set()
                await stream.inbox.end()

    async def _watch_idle(self) -> None:
        while (rest := self._last_frame + _IDLE_SECONDS - self._clock.monotonic()) > 0:
            await self._clock.sleep(rest)
        _log.info("SPDY session closed: no frames for %d seconds", _IDLE_SECONDS)
        self._connection.abort()

    async def _handle(self, frame: spdy.Control | spdy.Data) -> None:
        if isinstance(frame, spdy.Control):
            if frame.type == spdy.SYN_STREAM:
                await self._open(frame)
            elif frame.type == spdy.PING and frame.stream % 2:
                await self._send(self._writer.ping(frame.stream))
            elif frame.type == spdy.RST_STREAM and (stream := self._streams.get(frame.stream)) is not None:
                await self._forget(stream)
            return
        stream = self._streams.get(frame.stream)
        if stream is None or stream.is_closed_by_client:
            return
        if frame.data:
            await stream.inbox.put(frame.data)
        if frame.flags & spdy.FIN:
            await self._end_by_client(stream)

    async def _open(self, frame: spdy.Control) -> None:
        if frame.stream <= self._last_stream or not frame.stream % 2:
            await self._send(self._writer.reset(frame.stream, status=spdy.PROTOCOL_ERROR))
            return
        self._last_stream = frame.stream
        if len(self._streams) >= _STREAMS_MAX:
            await self._send(self._writer.reset(frame.stream, status=spdy.REFUSED_STREAM))
            return
        if not self._accepts(frame.headers):
            await self._send(self._writer.reset(frame.stream, status=spdy.CANCEL))
            return
        stream = self._streams[frame.stream] = Stream(self, frame.stream, frame.headers)
        await self._send(self._writer.reply(frame.stream))
        self._opened(stream)
        if frame.flags & spdy.FIN:
            await self._end_by_client(stream)

    async def _end_by_client(self, stream: Stream) -> None:
        stream.is_closed_by_client = True
        await stream.inbox.end()
        self._drop_if_closed(stream)

    async def send_data(self, stream: Stream, data: bytes, *, last: bool = False) -> None:
        """Send a data frame of an open stream; ``last`` ends this side."""
        await self._send(self._writer.data(stream.id, data, last=last))
        self._drop_if_closed(stream)

    async def reset(self, stream: Stream, status: int) -> None:
        """Reset a stream, unless it is reset or closed by both sides already."""
        if self._streams.get(stream.id) is stream:
            await self._forget(stream)
            await self._send(self._writer.reset(stream.id, status=status))

    def _drop_if_closed(self, stream: Stream) -> None:
        if stream.is_closed and stream.is_closed_by_client:
            self._streams.pop(stream.id, None)

    async def _forget(self, stream: Stream) -> None:
        self._streams.pop(stream.id, None)
        stream.was_reset.set()
        await stream.inbox.end(discard=True)

    async def _send(self, data: bytes) -> None:
        self._last_frame = self._clock.monotonic()
        with contextlib.suppress(OSError):
            await self._connection.send(data)
