"""The process that writes, seen from the event loop: writes go there frame by frame, what became of them comes back.

The loop never waits for it: a frame costs one encoding and one send, a commit one receive. While a frame waits for room in the
socket, the next writes gather in the pipeline, so at most one frame (and a few bytes) is encoded and not yet sent. When the
process dies, the frames that are on disk count and the others have failed, and the next writes start another process.
"""

from __future__ import annotations

import asyncio
import logging
import marshal
import os
from collections import deque
from typing import TYPE_CHECKING, Any

from steersman.storage.sqlite.batches import LENGTH_BYTES, POSITION_BITS

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
        settled: Callable[[int, str], None],
        *,
        start: Callable[[], Child],
        reached: Callable[[dict[int, int]], int],
    ) -> None:
        """``settled`` is called with the number of frames that are durable now, the oldest first, and with what went wrong, if
        anything did: then all the others have failed. It is the time to persist what had to wait, too.

        ``start`` (which blocks) makes another process, ``reached`` reads the revision on disk, 0 when it cannot, and
        is given the fingerprints of the revisions under way.
        """
        self._start = start
        self._reached = reached
        self._settled = settled
        self._loop = asyncio.get_running_loop()
        self._child: Child | None = None
        #: The revisions, and fingerprints, that the unanswered frames lead to.
        self._under_way: deque[tuple[int, int]] = deque()
        #: How often this process has told of a failure: it drops what was sent before that was heard.
        self._epoch = 0
        self._reaping = False
        self._detached = False
        #: What was not sent yet; the first may have been in part.
        self._frames: deque[memoryview] = deque()
        self._received = b""
        self._forget_below = 0
        self._attach(child)

    @property
    def has_room(self) -> bool:
        """Whether it takes writes now; ``settled`` says when it does again."""
        return not self._frames and not self._reaping

    def persist(self, rows: Sequence[Row], statements: Sequence[Statement], *, revision: int, fingerprint: int) -> None:
        """Have writes persisted together, which lead to ``revision`` (0: they have no rows) and ``fingerprint``. Only while ``has_room``.

        Raises ``ValueError`` or ``OverflowError`` when they hold what no row can.
        """
        if self._child is None:
            self._epoch = 0
        self._frames.append(_frame((self._epoch, rows, statements, revision, fingerprint)))
        self._under_way.append((revision, fingerprint))
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
        """Hear no more of the process, not even of its end; ``end`` is next."""
        self._detached = True
        if self._child is not None:
            self._unwatch(self._child)

    def end(self) -> None:
        """Let the process finish what it was sent and close the file. Blocks."""
        child, self._child = self._child, None
        if child is not None and self._frames:
            child.reap()  # it waits for the rest of a frame, which must not be anything else
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
            self._under_way.clear()
            self._settled(0, error)
            return
        for _ in range(frames):
            self._under_way.popleft()
        self._settled(frames, "")

    # The end of a process, and the start of another.

    def _lost(self, child: Child) -> None:
        self._unwatch(child)
        self._child = None
        self._frames.clear()
        self._reaping = True
        self._loop.run_in_executor(None, child.reap).add_done_callback(self._reaped)

    def _reaped(self, done: asyncio.Future[int]) -> None:
        if self._detached:
            return  # the file is being closed, nobody waits and nobody may read it any more
        self._reaping = False
        reason = f"the writer process ended with code {done.result()}"
        _log.error("%s; the next write starts another", reason)
        reached = self._reached(dict(self._under_way))
        on_disk = max((n for n, (revision, _) in enumerate(self._under_way, 1) if 0 < revision <= reached), default=0)
        failed = len(self._under_way) > on_disk
        self._under_way.clear()
        self._settled(on_disk, reason if failed else "")

    def _started(self, done: asyncio.Future[Child]) -> None:
        try:
            child = done.result()
        except OSError as error:
            self._frames.clear()
            self._under_way.clear()
            self._settled(0, f"no writer process: {error}")
        else:
            self._attach(child)


def _frame(message: Any) -> memoryview:
    data = marshal.dumps(message, _MARSHAL_VERSION)
    return memoryview(len(data).to_bytes(LENGTH_BYTES, "little") + data)
