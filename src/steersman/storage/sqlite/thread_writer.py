"""``Writer`` with a thread of this process.

It needs no second process and no encoding, but it waits for the interpreter lock after each call of SQLite. While frames make
no progress, the event loop releases the GIL (``gil_release``), so a busy loop delays a write but does not starve it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from typing import TYPE_CHECKING, Final, Protocol

from steersman.storage.sqlite.batches import POSITION_BITS, Batches, connect, serve
from steersman.storage.sqlite.database import connect_reader
from steersman.storage.sqlite.gil_release import GILRelease
from steersman.storage.sqlite.writer import InFlight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from steersman.storage.sqlite.batches import Message
    from steersman.storage.sqlite.index import Row
    from steersman.storage.sqlite.writer import Settled, Statement

_log = logging.getLogger(__name__)

#: Maximum number of frames in flight; further writes are collected in the pipeline, in larger frames.
FRAMES_MAX: Final = 32
#: Time without a result after which the loop starts releasing the GIL.
STARVED_SECONDS: Final = 0.02


class Cancellable(Protocol):
    """A scheduled call; the handles of uvloop are no ``asyncio.Handle``."""

    def cancel(self) -> None: ...


class OpenFile:
    """Connection of the writer thread, opened while the file is loaded."""

    def __init__(self, path: Path) -> None:
        """Raises ``sqlite3.Error``."""
        self._path = path
        self.batches = Batches(connect(str(path)), str(path))

    def end(self) -> None:
        """Close the session and the file. Blocks."""
        if self.batches.close_session():
            self.batches.close()
        else:
            self.abandon()

    def abandon(self) -> None:
        """Close the connection without a checkpoint, as if the process had been killed: the log stays for the next opener.

        The last connection to close would remove it, unless it is read-only.
        """
        try:
            reader = connect_reader(self._path)
            reader.execute("SELECT id FROM session").fetchall()
        except sqlite3.Error as error:
            _log.error("%s stays open, as it cannot be read: %s", self._path, error)
            _unclosable.append(self.batches)
            return
        self.batches.close()
        reader.close()


#: Abandoned connections, which must stay open because closing them would remove the log.
_unclosable: list[Batches] = []


class ThreadWriter:
    """Owner of the writer thread, which is a daemon: interpreter exit loses no acknowledged write."""

    def __init__(self, file: OpenFile, settled: Settled, *, reached: Callable[[dict[int, int]], int]) -> None:
        """``reached`` receives the fingerprints of the revisions in flight and returns the revision on disk."""
        self._file = file
        self._settled = settled
        self._loop = asyncio.get_running_loop()
        self._in_flight = InFlight(reached)
        #: Failures reported by the thread: it drops frames of earlier epochs.
        self._epoch = 0
        #: Error that ended the thread early; all writes then fail.
        self._failure = ""
        self._detached = False
        #: Number of reported results; written by the thread only.
        self._results = 0
        self._results_seen = 0
        self._gil_release = GILRelease(lambda: self._results)
        #: Timer of the next progress check, while frames are in flight.
        self._look: Cancellable | None = None
        self._inbox = _Inbox(self._report)
        # Not ``_thread``, which mypyc would name ``__thread``, a keyword of C.
        self._worker = threading.Thread(target=self._run, name="store writer", daemon=True)
        self._worker.start()

    @property
    def has_room(self) -> bool:
        return len(self._in_flight) < FRAMES_MAX

    def persist(self, rows: Sequence[Row], statements: Sequence[Statement], *, revision: int, fingerprint: int) -> None:
        self._in_flight.add(revision, fingerprint)
        if self._failure:
            self._loop.call_soon(self._ended, self._failure)
        else:
            self._inbox.put((self._epoch, rows, statements, revision, fingerprint))
            if self._look is None:
                self._look = self._loop.call_later(STARVED_SECONDS, self._release_gil_if_starved)

    def forget(self, revision: int) -> None:
        self._inbox.put((revision + 1) << POSITION_BITS)

    def detach(self) -> None:
        self._detached = True
        if self._look is not None:
            self._look.cancel()

    def end(self) -> None:
        self._inbox.put(None)
        self._worker.join()
        if self._failure:
            self._file.abandon()
        else:
            self._file.end()

    # In the thread.

    def _run(self) -> None:
        try:
            serve(self._inbox, self._file.batches)
        except Exception as error:  # noqa: BLE001 — callers wait for a result, whatever it is
            _log.exception("the writer thread has ended")
            self._failure = f"the writer thread has ended: {str(error) or type(error).__name__}"
            self._call_on_loop(self._ended, self._failure)

    def _report(self, frames: int, error: str) -> None:
        self._results += 1
        self._gil_release.notify()
        self._call_on_loop(self._answered, frames, error)

    def _call_on_loop(self, function: Callable[..., None], *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: no callers are waiting
            self._loop.call_soon_threadsafe(function, *args)

    # On the event loop.

    def _release_gil_if_starved(self) -> None:
        """Release the GIL if there was no result since the last check; check again while frames are in flight."""
        self._look = None
        if not self._in_flight or self._failure:
            return
        seconds = self._gil_release.wait() if self._results == self._results_seen else STARVED_SECONDS
        self._results_seen = self._results
        self._look = self._loop.call_later(seconds, self._release_gil_if_starved)

    def _answered(self, frames: int, error: str) -> None:
        if self._detached:
            return
        if error:
            self._epoch += 1
        self._settled(self._in_flight.settle(frames, error), error)

    def _ended(self, reason: str) -> None:
        if self._detached:
            return
        on_disk, has_failed = self._in_flight.take_all()
        self._settled(on_disk, reason if has_failed else "")


class _Inbox:
    """Messages for the thread. ``put`` is called by the loop, the other methods by the thread."""

    def __init__(self, report: Callable[[int, str], None]) -> None:
        #: Not a ``SimpleQueue``, whose timeout may never end (``gil_release``).
        self._messages: queue.Queue[Message] = queue.Queue()
        self._report = report
        #: Message that was dequeued by ``is_waiting`` and not received yet.
        self._next: list[Message] = []

    def put(self, message: Message) -> None:
        self._messages.put(message)

    def receive(self) -> Message:
        return self._next.pop() if self._next else self._messages.get()

    def is_waiting(self, *, seconds: float = 0) -> bool:
        if self._next or not seconds:
            return bool(self._next) or not self._messages.empty()
        try:
            self._next.append(self._messages.get(timeout=seconds))
        except queue.Empty:
            return False
        return True

    def answer(self, frames: int, error: str) -> None:
        self._report(frames, error)
