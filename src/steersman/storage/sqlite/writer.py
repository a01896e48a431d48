"""The writer process, seen from the event loop: one batch at a time goes there, what became of it comes back.

The loop never waits for it: a batch costs one encoding, one send and one receive. While a batch is at work the next
gathers in the pipeline, so at most one batch (and a few bytes) is encoded and not yet sent. When the process dies, the batch
at work counts if it is on disk and has failed otherwise, and the next batch starts another process.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import marshal
from collections import deque
from typing import TYPE_CHECKING, Any

from steersman.storage.sqlite.batches import LENGTH_BYTES
from steersman.storage.sqlite.schema import POSITION_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.storage.sqlite.child import Child
    from steersman.storage.sqlite.index import Row

_log = logging.getLogger(__name__)

#: An SQL statement and its parameters.
Statement = tuple[str, tuple[object, ...]]
_RECEIVE_BYTES = 4096
#: The last format without shared references: looking for them takes longer than all the rest.
_MARSHAL_VERSION = 2


class Writer:
    """Owns the process. All but ``end`` is for the event loop."""

    def __init__(
        self,
        child: Child,
        settled: Callable[[str], None],
        *,
        start: Callable[[], Child],
        reached: Callable[[], int],
    ) -> None:
        """``settled`` is called with what kept a batch from being persisted, "" when it is durable.

        ``start`` (which blocks) makes another process, ``reached`` reads the revision on disk, 0 when it cannot.
        """
        self._start = start
        self._reached = reached
        self._settled = settled
        self._loop = asyncio.get_running_loop()
        self._child: Child | None = None
        #: Whether a batch is at work; the revision that it leads to.
        self._busy = False
        self._revision = 0
        #: What was not sent yet; the first may have been in part.
        self._frames: deque[memoryview] = deque()
        self._received = b""
        self._forget_below = 0
        self._attach(child)

    def persist(self, rows: Sequence[Row], statements: Sequence[Statement], *, revision: int) -> None:
        """Have one batch persisted, which leads to ``revision`` (0: it has no rows); the next may come after ``settled``.

        Raises ``ValueError`` or ``OverflowError`` when it holds what no row can.
        """
        frame = _frame((rows, statements, revision))
        self._busy = True
        self._revision = revision
        self._frames.append(frame)
        if self._child is not None:
            self._send()
        else:
            self._loop.run_in_executor(None, self._start).add_done_callback(self._started)

    def forget(self, revision: int) -> None:
        """Have the history up to ``revision`` deleted, piece by piece between batches."""
        self._forget_below = max(self._forget_below, (revision + 1) << POSITION_BITS)
        if self._child is not None:
            self._frames.append(_frame(self._forget_below))
            self._send()

    def detach(self) -> None:
        """Hear no more of the process; ``end`` is next."""
        if self._child is not None:
            self._loop.remove_reader(self._child.socket)
            self._loop.remove_writer(self._child.socket)

    def end(self) -> None:
        """Let the process finish what it was sent and close the file. Blocks."""
        child, self._child = self._child, None
        if child is not None and self._frames:
            child.reap()  # it waits for the rest of a batch, which must not be anything else
        elif child is not None:
            child.end()

    def _attach(self, child: Child) -> None:
        self._child = child
        self._received = b""
        self._loop.add_reader(child.socket, self._receive)
        if self._forget_below:
            self._frames.append(_frame(self._forget_below))
        if self._frames:
            self._send()

    def _send(self) -> None:
        """Send what can be sent now; the rest when there is room."""
        assert self._child is not None
        sock = self._child.socket
        while self._frames:
            frame = self._frames[0]
            try:
                sent = sock.send(frame)
            except BlockingIOError:
                sent = 0
            except OSError:
                return  # it is dead, which the end of what it sends tells
            if sent < len(frame):
                self._frames[0] = frame[sent:]
                self._loop.add_writer(sock, self._send_rest)
                return
            self._frames.popleft()

    def _send_rest(self) -> None:
        assert self._child is not None
        self._loop.remove_writer(self._child.socket)
        self._send()

    def _receive(self) -> None:
        assert self._child is not None
        try:
            data = self._child.socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost(self._child)
            return
        self._received += data
        size = LENGTH_BYTES + int.from_bytes(self._received[:LENGTH_BYTES], "little")
        if len(self._received) < size:
            return
        error = self._received[LENGTH_BYTES:].decode()
        self._received = b""
        self._busy = False
        self._settled(error)

    # The end of a process, and the start of another.

    def _lost(self, child: Child) -> None:
        self.detach()
        self._child = None
        self._frames.clear()
        reaped = functools.partial(self._reaped, unanswered=self._busy)
        self._loop.run_in_executor(None, child.reap).add_done_callback(reaped)

    def _reaped(self, done: asyncio.Future[int], *, unanswered: bool) -> None:
        reason = f"the writer process ended with code {done.result()}"
        _log.error("%s; the next write starts another", reason)
        if unanswered:
            self._busy = False
            self._settled("" if 0 < self._revision <= self._reached() else reason)

    def _started(self, done: asyncio.Future[Child]) -> None:
        try:
            child = done.result()
        except OSError as error:
            self._frames.clear()
            self._busy = False
            self._settled(f"no writer process: {error}")
        else:
            self._attach(child)


def _frame(message: Any) -> memoryview:
    data = marshal.dumps(message, _MARSHAL_VERSION)
    return memoryview(len(data).to_bytes(LENGTH_BYTES, "little") + data)
