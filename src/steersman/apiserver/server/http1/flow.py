"""Flow control of a connection's transport, and pushed pieces of streams."""

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
        """Stop reading from the client. Idempotent."""
        if not self._read_paused:
            self._read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading from the client. Idempotent."""
        if self._read_paused:
            self._read_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """Handle a transport buffer above its high-water mark."""
        self.write_paused = True

    def resume_writing(self) -> None:
        """Handle a transport buffer below its low-water mark, or a lost connection."""
        self.write_paused = False
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    async def drain(self) -> None:
        """Wait until more may be written, or the connection is lost."""
        while self.write_paused:
            if self._writable is None:
                self._writable = asyncio.Event()
            await self._writable.wait()


class Push:
    """Writer of chunks of a streamed response without a task switch.

    ASGI extension ``steersman.push``: waking the task that sends a watch's events would cost half of each event.
    """

    __slots__ = ("_flow", "_transport", "response")

    def __init__(self, transport: asyncio.Transport, flow: Flow) -> None:
        self._transport = transport
        self._flow = flow
        #: Response in progress.
        self.response: ResponseWriter | None = None

    def __call__(self, piece: bytes) -> bool:
        """Write a piece. Returns False without writing if the sender must wait or the piece exceeds a chunk."""
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
        """True while the client has not read enough."""
        return self._flow.write_paused

    async def drained(self) -> None:
        """Wait until more may be written, or the connection is lost."""
        await self._flow.drain()
