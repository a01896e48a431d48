"""The queue before a file or a webhook: events are encoded on the loop and written off it, many at once.

In the modes ``blocking`` and ``blocking-strict`` whoever has an event waits until it is written (and, before that, for room
in the queue). In mode ``batch`` nobody waits: events that find the queue full are dropped, counted and told in the log.
The last event of a stream never waits and always finds room in the blocking modes, as there are no more of them than
streams.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

if TYPE_CHECKING:
    from steersman.apiserver.audit.files import LineFile
    from steersman.asynckit.clock import Clock

BATCH: Final = "batch"
BLOCKING: Final = "blocking"
BLOCKING_STRICT: Final = "blocking-strict"
MODES: Final = (BATCH, BLOCKING, BLOCKING_STRICT)
#: Lines that one write takes at most when nothing else bounds it.
_WRITE_MAX: Final = 1000
#: In mode ``batch`` a write waits so long for more lines: handing one to the thread costs more than all else.
_LINGER_SECONDS: Final = 0.005

_log = logging.getLogger(__name__)


class Destination(Protocol):
    """Where events go."""

    async def write(self, lines: list[bytes]) -> None:
        """They are there when it returns. Raises ``OSError`` when they are lost."""

    def hurry(self) -> None:
        """The server stops: what is not written soon never will be."""

    async def close(self) -> None:
        """Nothing is written any more."""


class Threaded:
    """A file, which is written in a thread."""

    def __init__(self, file: LineFile) -> None:
        self._file: Final = file

    async def write(self, lines: list[bytes]) -> None:
        """Raises ``OSError``."""
        await asyncio.to_thread(self._file.write, lines)

    def hurry(self) -> None:
        """Files are quick."""

    async def close(self) -> None:
        """Idempotent."""
        self._file.close()


class Batching(msgspec.Struct, frozen=True, kw_only=True):
    """How the queue is kept; what concerns batches counts in mode ``batch`` only. Defaults are kube-apiserver's."""

    mode: str = BLOCKING
    buffer_size: int = 10_000
    batch_max_size: int = 1
    batch_max_wait_seconds: float = 0.0
    #: Of all lines that go together; a longer line goes alone. 0: no bound.
    batch_max_bytes: int = 0
    #: Batches a second, and how many may come at once; 0: as many as there are.
    throttle_qps: float = 0.0
    throttle_burst: int = 0


class _Waiting:
    """One line, and who wants to know that it is written."""

    __slots__ = ("done", "line")

    def __init__(self, line: bytes, done: asyncio.Future[bool] | None) -> None:
        self.line = line
        self.done = done

    def settle(self, *, written: bool) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result(written)


class AuditLog:
    """Takes lines, and writes them in order. ``run`` is the writer, as a task of the owner; ``close`` ends it."""

    def __init__(self, destination: Destination, batching: Batching, *, clock: Clock) -> None:
        self._destination: Final = destination
        self._batching: Final = batching
        self._blocks: Final = batching.mode != BATCH
        #: Whether a request that cannot be recorded must fail.
        self.strict: Final = batching.mode == BLOCKING_STRICT
        self._clock: Final = clock
        #: At most ``buffer_size``, and in blocking modes the ends of streams.
        self._queue: deque[_Waiting] = deque()
        self._filled: Final = asyncio.Event()
        #: Set while there is room.
        self._room: Final = asyncio.Event()
        self._room.set()
        self._closing = False
        #: No writer is to begin any more: ``close`` writes what is left.
        self._left_to_close = False
        self._running: asyncio.Future[None] | None = None
        self._tokens = float(batching.throttle_burst)
        self._refilled = clock.monotonic()
        #: Lines that could not be written, and those that found no room.
        self.failed = 0
        self.dropped = 0

    async def record(self, line: bytes) -> bool:
        """Whether the line is written (in mode ``batch``: will be)."""
        if not self._blocks:
            return self.post(line)
        while len(self._queue) >= self._batching.buffer_size and not self._closing:
            self._room.clear()
            await self._room.wait()
        if self._closing:
            return False
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._put(_Waiting(line, done))
        return await done

    def post(self, line: bytes) -> bool:
        """Take a line without waiting; whether there was room for it."""
        full = not self._blocks and len(self._queue) >= self._batching.buffer_size
        if full or self._closing:
            if not self.dropped:
                _log.error("audit events are dropped: the queue is full or closed")
            self.dropped += 1
            return False
        self._put(_Waiting(line, None))
        return True

    def _put(self, waiting: _Waiting) -> None:
        self._queue.append(waiting)
        self._filled.set()

    async def run(self) -> None:
        """Write until ``close``; what is there then is still written."""
        if self._left_to_close:
            return
        self._running = asyncio.get_running_loop().create_future()
        try:
            while True:
                await self._filled.wait()
                if not self._queue and self._closing:
                    return
                await self._throttle()
                await self._write(await self._batch())
                if not self._queue and not self._closing:
                    self._filled.clear()
        finally:
            self._running.set_result(None)

    async def _batch(self) -> list[_Waiting]:
        """The next lines; in mode ``batch`` when enough are there or the first has waited long enough."""
        batching = self._batching
        most = _WRITE_MAX
        if not self._blocks:
            bounded = batching.batch_max_wait_seconds > 0 or batching.throttle_qps > 0
            enough = max(1, batching.batch_max_size) if bounded else _WRITE_MAX
            await self._gather(enough, batching.batch_max_wait_seconds or _LINGER_SECONDS)
            # a file takes more at once, unless the rate is limited
            most = enough if batching.throttle_qps > 0 else _WRITE_MAX
        taken = self._take(most, self._batching.batch_max_bytes)
        self._room.set()
        return taken

    def _take(self, most: int, bytes_max: int) -> list[_Waiting]:
        taken: list[_Waiting] = []
        size = 0
        while self._queue and len(taken) < most:
            size += len(self._queue[0].line)
            if taken and 0 < bytes_max < size:
                break
            taken.append(self._queue.popleft())
        return taken

    async def _gather(self, enough: int, wait_seconds: float) -> None:
        end = self._clock.monotonic() + wait_seconds
        while len(self._queue) < enough and not self._closing and (left := end - self._clock.monotonic()) > 0:
            self._filled.clear()
            timer = self._clock.timer(left, self._filled.set)
            await self._filled.wait()
            timer.cancel()

    async def _throttle(self) -> None:
        qps = 0.0 if self._blocks else self._batching.throttle_qps
        if qps <= 0 or self._closing:
            return
        now = self._clock.monotonic()
        self._tokens = min(max(1, self._batching.throttle_burst), self._tokens + (now - self._refilled) * qps) - 1
        self._refilled = now
        if self._tokens < 0:
            await self._clock.sleep(-self._tokens / qps)

    async def _write(self, taken: list[_Waiting]) -> None:
        written = True
        try:
            await self._destination.write([waiting.line for waiting in taken])
        except OSError as error:
            written = False
            self.failed += len(taken)
            _log.error("%d audit events are lost: %s", len(taken), error)
        for waiting in taken:
            waiting.settle(written=written)

    async def close(self) -> None:
        """Write what is left, take nothing more, close the file. Idempotent."""
        self._closing = True
        self._filled.set()
        self._room.set()
        self._destination.hurry()
        if self._running is not None:
            await self._running
        self._left_to_close = True
        while self._queue:  # the writer never ran, or was stopped
            await self._write(self._take(_WRITE_MAX, self._batching.batch_max_bytes))
        await self._destination.close()
