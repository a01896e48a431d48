"""Flow control of a connection's transport, and pieces of streams that are written without a task."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from steersman.apiserver.server.http1.limits import WRITE_BYTES_MAX

if TYPE_CHECKING:
    from steersman.apiserver.server.http1.response import ResponseWriter


class Flow:
    """Pauses of reading, which the connection decides, and of writing, which the transport reports."""

    __slots__ = ("_read_paused", "_transport", "_writable", "write_paused")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._read_paused = False
        self.write_paused = False
        #: Made when a writer waits.
        self._writable: asyncio.Event | None = None

    def pause_reading(self) -> None:
        """Take no more bytes from the client. Idempotent."""
        if not self._read_paused:
            self._read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take bytes from the client again. Idempotent."""
        if self._read_paused:
            self._read_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """The transport's buffer is above its high-water mark."""
        self.write_paused = True

    def resume_writing(self) -> None:
        """The transport's buffer is below its low-water mark, or the connection is lost."""
        self.write_paused = False
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    async def drain(self) -> None:
        """Return when more may be written, or the connection is lost."""
        while self.write_paused:
            if self._writable is None:
                self._writable = asyncio.Event()
            await self._writable.wait()


class Push:
    """Writes a piece of the chunked response that is under way on a connection, without a task.

    The ASGI extension ``steersman.push``: a stream of events takes it instead of waking the task that sends the events,
    which would cost half of each event.
    """

    __slots__ = ("_flow", "_transport", "response")

    def __init__(self, transport: asyncio.Transport, flow: Flow) -> None:
        self._transport = transport
        self._flow = flow
        #: The response under way.
        self.response: ResponseWriter | None = None

    def __call__(self, piece: bytes) -> bool:
        """Write a piece. Return False, and write nothing, if its sender must wait or the piece does not fit a chunk."""
        response = self.response
        if (
            response is None
            or not response.is_chunked
            or response.is_complete
            or self._flow.write_paused
            or len(piece) > WRITE_BYTES_MAX
            or self._transport.is_closing()
        ):
            return False
        self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        return True

    @property
    def is_paused(self) -> bool:
        """True while the client has not read enough of the pieces before."""
        return self._flow.write_paused

    async def drained(self) -> None:
        """Return when more may be written, or the connection is lost."""
        await self._flow.drain()
