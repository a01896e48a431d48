"""``Writer`` in a child process: sends frames of writes from the event loop and receives their results.

The loop never waits for the process: a frame costs one encoding and one send, a commit one receive. While a frame waits
for room in the socket, further writes collect in the pipeline, so at most one frame (and a few bytes) is encoded and
unsent. When the process dies, the frames on disk are durable and the others have failed; the next writes start another
process.
"""

from __future__ import annotations

import asyncio
import logging
import marshal
import os
from collections import deque
from typing import TYPE_CHECKING, Any

from steersman.storage.sqlite.batches import LENGTH_BYTES, POSITION_BITS
from steersman.storage.sqlite.writer import InFlight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.storage.sqlite.child import Child
    from steersman.storage.sqlite.index import Row
    from steersman.storage.sqlite.writer import Settled, Statement

_log = logging.getLogger(__name__)

_RECEIVE_BYTES = 4096
#: Last marshal format without shared references, whose detection dominates the cost.
_MARSHAL_VERSION = 2


class ProcessWriter:
    """Owner of the writer process."""

    def __init__(
        self,
        child: Child,
        settled: Settled,
        *,
        start: Callable[[], Child],
        reached: Callable[[dict[int, int]], int],
    ) -> None:
        """``start`` (blocking) starts another process.

        ``reached`` receives the fingerprints of the revisions in flight and returns the revision on disk, 0 when it
        cannot be read.
        """
        self._start = start
        self._settled = settled
        self._loop = asyncio.get_running_loop()
        self._child: Child | None = None
        self._in_flight = InFlight(reached)
        #: Failures reported by this process: it drops frames of earlier epochs.
        self._epoch = 0
        self._reaping = False
        self._detached = False
        #: Unsent frames; the first may be partly sent.
        self._frames: deque[memoryview] = deque()
        self._received = b""
        self._forget_below = 0
        self._attach(child)

    @property
    def has_room(self) -> bool:
        return not self._frames and not self._reaping

    def persist(self, rows: Sequence[Row], statements: Sequence[Statement], *, revision: int, fingerprint: int) -> None:
        if self._child is None:
            self._epoch = 0
        self._frames.append(_frame((self._epoch, rows, statements, revision, fingerprint)))
        self._in_flight.add(revision, fingerprint)
        if self._child is not None:
            self._send()
        else:
            self._loop.run_in_executor(None, self._start).add_done_callback(self._started)

    def forget(self, revision: int) -> None:
        self._forget_below = max(self._forget_below, (revision + 1) << POSITION_BITS)
        if self._child is not None:
            self._frames.append(_frame(self._forget_below))
            self._send()

    def detach(self) -> None:
        self._detached = True
        if self._child is not None:
            self._unwatch(self._child)

    def end(self) -> None:
        child, self._child = self._child, None
        if child is not None and self._frames:
            child.reap()  # the process waits for the rest of a partly sent frame
        elif child is not None:
            child.end()

    def _unwatch(self, child: Child) -> None:
        self._loop.remove_reader(child.answers)
        self._loop.remove_writer(child.socket)

    def _attach(self, child: Child) -> None:
        self._child = child
        self._received = b""
        self._loop.add_reader(child.answers, self._receive)
        if self._forget_below:
            self._frames.append(_frame(self._forget_below))
        if self._frames:
            self._send()

    def _send(self) -> None:
        """Send without blocking; the rest when there is room."""
        assert self._child is not None
        sock = self._child.socket
        while self._frames:
            frame = self._frames[0]
            try:
                sent = sock.send(frame)
            except BlockingIOError:
                sent = 0
            except OSError:
                return  # the process is dead, which the end of its output reports
            if sent < len(frame):
                self._frames[0] = frame[sent:]
                self._loop.add_writer(sock, self._send_rest)
                return
            self._frames.popleft()

    def _send_rest(self) -> None:
        assert self._child is not None
        self._loop.remove_writer(self._child.socket)
        self._send()
        if not self._frames:
            self._settled(0, "")

    def _receive(self) -> None:
        assert self._child is not None
        try:
            data = os.read(self._child.answers, _RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost(self._child)
            return
        self._received += data
        while len(self._received) >= 2 * LENGTH_BYTES:
            end = 2 * LENGTH_BYTES + int.from_bytes(self._received[LENGTH_BYTES : 2 * LENGTH_BYTES], "little")
            if len(self._received) < end:
                return
            frames = int.from_bytes(self._received[:LENGTH_BYTES], "little")
            error = self._received[2 * LENGTH_BYTES : end].decode()
            self._received = self._received[end:]
            self._answered(frames, error)

    def _answered(self, frames: int, error: str) -> None:
        if error:
            self._epoch += 1
        self._settled(self._in_flight.settle(frames, error), error)

    # End of a process, and start of the next one.

    def _lost(self, child: Child) -> None:
        self._unwatch(child)
        self._child = None
        self._frames.clear()
        self._reaping = True
        self._loop.run_in_executor(None, child.reap).add_done_callback(self._reaped)

    def _reaped(self, done: asyncio.Future[int]) -> None:
        if self._detached:
            return  # the file is being closed: no callers are waiting, and reads are no longer allowed
        self._reaping = False
        reason = f"the writer process ended with code {done.result()}"
        _log.error("%s; the next write starts another", reason)
        on_disk, failed = self._in_flight.take_all()
        self._settled(on_disk, reason if failed else "")

    def _started(self, done: asyncio.Future[Child]) -> None:
        try:
            child = done.result()
        except OSError as error:
            self._frames.clear()
            self._in_flight.clear()
            self._settled(0, f"no writer process: {error}")
        else:
            self._attach(child)


def _frame(message: Any) -> memoryview:
    data = marshal.dumps(message, _MARSHAL_VERSION)
    return memoryview(len(data).to_bytes(LENGTH_BYTES, "little") + data)
