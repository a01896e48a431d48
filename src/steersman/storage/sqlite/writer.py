"""Interface of the writer, which makes batches of the pipeline durable.

| body | batches run in | chosen |
| --- | --- | --- |
| ``process_writer`` | a process of its own, which waits for no interpreter lock | where it has a CPU beside the event loop's |
| ``thread_writer`` | a thread of this process | on one CPU, and in clusters for tests, whose start counts |

Both run ``batches.serve``. Measurements: ``docs/decisions/0001``.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.storage.sqlite.index import Row

#: Implementation of the writer.
WriterKind = Literal["process", "thread"]
#: An SQL statement and its parameters.
Statement = tuple[str, tuple[object, ...]]
#: Receives the number of frames that became durable, oldest first, and an error, if any, after which all other frames have
#: failed. The call also signals that there is room again.
Settled = Callable[[int, str], None]


def writer_kind() -> WriterKind:
    """Return the faster implementation for the CPUs of this process."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux
    cpus = len(affinity(0)) if affinity is not None else os.cpu_count()
    return "thread" if cpus == 1 else "process"


class Writer(Protocol):
    """Writer that makes frames of writes durable, in order, and reports each to a ``Settled``. All methods except ``end`` run
    on the event loop and never wait for the disk. After a failed frame all later frames fail, because each may depend on it.
    Every frame is settled once, unless the writer was detached.
    """

    @property
    def has_room(self) -> bool:
        """True if it accepts a frame now; ``Settled`` is called when it does again."""

    def persist(self, rows: Sequence[Row], statements: Sequence[Statement], *, revision: int, fingerprint: int) -> None:
        """Persist writes together, which lead to ``revision`` (0: no rows) and ``fingerprint``. Requires ``has_room``.

        Raises ``ValueError`` or ``OverflowError`` for values that no row can hold.
        """

    def forget(self, revision: int) -> None:
        """Delete the history up to ``revision``, in steps between batches."""

    def detach(self) -> None:
        """Stop reporting; ``end`` must be called next."""

    def end(self) -> None:
        """Finish the frames and close the file, after the readers have. Blocks."""


class InFlight:
    """Revisions and fingerprints of the frames that are not settled, oldest first."""

    def __init__(self, reached: Callable[[dict[int, int]], int]) -> None:
        """``reached`` returns the revision on disk for the fingerprints of revisions, 0 when it cannot be read."""
        self._reached = reached
        self._frames: deque[tuple[int, int]] = deque()

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, revision: int, fingerprint: int) -> None:
        self._frames.append((revision, fingerprint))

    def settle(self, count: int, error: str) -> int:
        """Remove the oldest frames, which are durable, or all after an error; return the number of durable ones."""
        if error:
            self._frames.clear()
            return 0
        for _ in range(count):
            self._frames.popleft()
        return count

    def clear(self) -> None:
        """Remove all frames, which have failed."""
        self._frames.clear()

    def take_all(self) -> tuple[int, bool]:
        """Remove all frames of a writer that ended; return the number on disk, and True if the others have failed."""
        reached = self._reached(dict(self._frames))
        on_disk = max((n for n, (revision, _) in enumerate(self._frames, 1) if 0 < revision <= reached), default=0)
        has_failed = len(self._frames) > on_disk
        self._frames.clear()
        return on_disk, has_failed
