"""Queue of audit events before a file or webhook; events are written in batches outside the event loop.

In the modes ``blocking`` and ``blocking-strict`` a request waits for space in the queue and until its event is written.
In mode ``batch`` requests do not wait: events are dropped, counted and logged when the queue is full. The last event of
a stream never waits, and is always accepted in the blocking modes, because their number is bounded by that of streams.
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
#: Default maximum of lines per write.
_WRITE_MAX: Final = 1000
#: Default wait for more lines in mode ``batch``: the hand-over to a thread dominates the cost of a write.
_LINGER_SECONDS: Final = 0.005

_log = logging.getLogger(__name__)


class Destination(Protocol):
    """Asynchronous output of audit lines."""

    async def write(self, lines: list[bytes]) -> None:
        """Write lines. Raises ``OSError`` if they are lost."""

    def expedite(self) -> None:
        """Shorten retries and timeouts: the server is shutting down."""

    async def close(self) -> None:
        """Close the output."""


class ThreadedDestination:
    """Destination that writes a file in a thread."""

    def __init__(self, file: LineFile) -> None:
        self._file: Final = file

    async def write(self, lines: list[bytes]) -> None:
        """Write lines. Raises ``OSError``."""
        await asyncio.to_thread(self._file.write, lines)

    def expedite(self) -> None:
        """Do nothing: file writes have no delays."""

    async def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()


class BatchConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Queue options; batch options apply in mode ``batch`` only. Defaults are kube-apiserver's."""

    mode: str = BLOCKING
    buffer_size: int = 10_000
    batch_max_size: int = 1
    batch_max_wait_seconds: float = 0.0
    #: Maximum size of a batch; a longer line is written alone. 0: no limit.
    batch_max_bytes: int = 0
    #: Batches per second, and burst; 0: no limit.
    throttle_qps: float = 0.0
    throttle_burst: int = 0


class _QueuedLine:
    """A queued line, and the future of its writer."""

    __slots__ = ("done", "line")

    def __init__(self, line: bytes, done: asyncio.Future[bool] | None) -> None:
        self.line = line
        self.done = done

    def settle(self, *, written: bool) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result(written)


class AuditLog:
    """Ordered audit log. ``run`` is the writer, a task of the owner; ``close`` ends it."""

    def __init__(self, destination: Destination, batching: BatchConfig, *, clock: Clock) -> None:
        self._destination: Final = destination
        self._batching: Final = batching
        self._blocks: Final = batching.mode != BATCH
        #: True if a request whose event cannot be written must fail.
        self.strict: Final = batching.mode == BLOCKING_STRICT
        self._clock: Final = clock
        #: Queued lines, at lines_max ``buffer_size`` plus, in blocking modes, the last events of streams.
        self._queue: deque[_QueuedLine] = deque()
        self._filled: Final = asyncio.Event()
        #: Set while the queue has space.
        self._room: Final = asyncio.Event()
        self._room.set()
        self._closing = False
        #: True when ``close`` writes the remaining lines; ``run`` then returns immediately.
        self._is_writer_done = False
        self._running: asyncio.Future[None] | None = None
        self._tokens = float(batching.throttle_burst)
        self._refilled = clock.monotonic()
        #: Numbers of lines that failed to be written and that were dropped.
        self.failed = 0
        self.dropped = 0

    async def record(self, line: bytes) -> bool:
        """Queue a line; return True when it is written (in mode ``batch``: accepted)."""
        if not self._blocks:
            return self.post(line)
        while len(self._queue) >= self._batching.buffer_size and not self._closing:
            self._room.clear()
            await self._room.wait()
        if self._closing:
            return False
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._put(_QueuedLine(line, done))
        return await done

    def post(self, line: bytes) -> bool:
        """Queue a line without waiting; return False if the queue is full or closed."""
        full = not self._blocks and len(self._queue) >= self._batching.buffer_size
        if full or self._closing:
            if not self.dropped:
                _log.error("audit events are dropped: the queue is full or closed")
            self.dropped += 1
            return False
        self._put(_QueuedLine(line, None))
        return True

    def _put(self, waiting: _QueuedLine) -> None:
        self._queue.append(waiting)
        self._filled.set()

    async def run(self) -> None:
        """Write until ``close``, including the lines queued by then."""
        if self._is_writer_done:
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

    async def _batch(self) -> list[_QueuedLine]:
        """Return the next lines; in mode ``batch``, once the batch is full or its wait has elapsed."""
        batching = self._batching
        lines_max = _WRITE_MAX
        if not self._blocks:
            bounded = batching.batch_max_wait_seconds > 0 or batching.throttle_qps > 0
            enough = max(1, batching.batch_max_size) if bounded else _WRITE_MAX
            await self._gather(enough, batching.batch_max_wait_seconds or _LINGER_SECONDS)
            # a file takes more at once, unless the rate is limited
            lines_max = enough if batching.throttle_qps > 0 else _WRITE_MAX
        batch = self._take(lines_max, self._batching.batch_max_bytes)
        self._room.set()
        return batch

    def _take(self, lines_max: int, bytes_max: int) -> list[_QueuedLine]:
        batch: list[_QueuedLine] = []
        size = 0
        while self._queue and len(batch) < lines_max:
            size += len(self._queue[0].line)
            if batch and 0 < bytes_max < size:
                break
            batch.append(self._queue.popleft())
        return batch

    async def _gather(self, enough: int, wait_seconds: float) -> None:
        end = self._clock.monotonic() + wait_seconds
        while len(self._queue) < enough and not self._closing and (remaining := end - self._clock.monotonic()) > 0:
            self._filled.clear()
            timer = self._clock.timer(remaining, self._filled.set)
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

    async def _write(self, taken: list[_QueuedLine]) -> None:
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
        """Write the remaining lines and close the destination. Idempotent."""
        self._closing = True
        self._filled.set()
        self._room.set()
        self._destination.expedite()
        if self._running is not None:
            await self._running
        self._is_writer_done = True
        while self._queue:  # the writer never ran, or was stopped
            await self._write(self._take(_WRITE_MAX, self._batching.batch_max_bytes))
        await self._destination.close()
