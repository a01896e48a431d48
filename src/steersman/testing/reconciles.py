"""Record of the reconciles of an embedded cluster: key, number, cause and result."""

from __future__ import annotations

from collections import Counter, deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.asynckit.clock import Clock
    from steersman.client.workqueue import WorkQueue
    from steersman.runtime.reconcile_log import Attempt

#: Maximum number of recorded reconciles; the oldest are dropped.
RECORDS_MAX: Final = 8192
#: Number of reconciles of one key within ``HOT_SECONDS`` that counts as a hot loop.
HOT_COUNT: Final = 50
HOT_SECONDS: Final = 10.0
_CAUSES_SHOWN: Final = 3

#: Controller and key of the reconcile of this context; empty outside of reconciles.
CURRENT_RECONCILE: Final[ContextVar[str]] = ContextVar("current reconcile", default="")


class Reconcile(msgspec.Struct, frozen=True):
    """One reconcile."""

    controller: str
    key: str
    cause: str
    #: Monotonic time of its end.
    time: float
    result: str
    error: str
    #: Summary of its writes.
    actions: str


class HotLoop(msgspec.Struct, frozen=True):
    """Key that is reconciled repeatedly in a short time."""

    controller: str
    key: str
    count: int
    seconds: float
    causes: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"hot loop: {self.controller} reconciled {self.key} {self.count} times within {self.seconds:g} seconds,"
            f" because of: {'; '.join(self.causes)}"
        )


class ReconcileTrace:
    """Recorder of reconciles (``ReconcileRecorder``) with a bounded memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: deque[Reconcile] = deque(maxlen=RECORDS_MAX)
        #: Number of all reconciles so far.
        self.total = 0
        self._queues: list[WorkQueue[Any]] = []
        #: Number of running reconciles of each controller and key, at least one.
        self._running: dict[tuple[str, str], int] = {}

    def queue_made(self, queue: WorkQueue[Any]) -> None:
        """Record a new queue."""
        self._queues.append(queue)

    def forget_queues(self) -> None:
        """Remove the queues of components that have ended."""
        self._queues.clear()
        self._running.clear()

    def started(self, controller: str, key: str, cause: str) -> None:
        """Record the start of a reconcile."""
        self._running[controller, key] = self._running.get((controller, key), 0) + 1
        CURRENT_RECONCILE.set(f"{controller} {key} ({cause})")

    def finished(self, controller: str, key: str, cause: str, attempt: Attempt, actions: str) -> None:
        """Record the end of a reconcile."""
        CURRENT_RECONCILE.set("")
        others = self._running.pop((controller, key), 0) - 1
        if others > 0:
            self._running[controller, key] = others
        self.total += 1
        error = "" if attempt.failure is None else str(attempt.failure) or type(attempt.failure).__name__
        self._records.append(
            Reconcile(controller, key, cause, self._clock.monotonic(), attempt.outcome.value, error, actions)
        )

    def __iter__(self) -> Iterator[Reconcile]:
        return iter(tuple(self._records))

    def since(self, total: int) -> list[Reconcile]:
        """Return the reconciles after the first ``total``, except those already dropped."""
        count = min(self.total - total, len(self._records))
        return list(self._records)[len(self._records) - count :]

    def hot_loops(self, *, count: int = HOT_COUNT, seconds: float = HOT_SECONDS) -> list[HotLoop]:
        """Return the keys that were reconciled ``count`` times or more within ``seconds`` of the clock."""
        by_key: dict[tuple[str, str], list[Reconcile]] = {}
        for record in self._records:
            by_key.setdefault((record.controller, record.key), []).append(record)
        loops = []
        for (controller, key), records in by_key.items():
            for at in range(len(records) - count + 1):
                span = records[at + count - 1].time - records[at].time
                if span <= seconds:
                    inside = [other for other in records if 0 <= other.time - records[at].time <= seconds]
                    causes = tuple(
                        cause for cause, _ in Counter(other.cause for other in inside).most_common(_CAUSES_SHOWN)
                    )
                    loops.append(HotLoop(controller, key, len(inside), seconds, causes))
                    break
        return loops

    def report(self, since: int) -> list[str]:
        """Return lines about queues that are not empty, running reconciles, and the keys reconciled most."""
        lines = [
            f"queue {queue.name}: {len(queue)} waiting, {queue.processing} in process, {queue.delayed} due later"
            for queue in self._queues
            if len(queue) or queue.processing
        ]
        lines += [f"running: {controller} {key}" for controller, key in self._running]
        records = self.since(since)
        counts = Counter((record.controller, record.key) for record in records)
        for (controller, key), count in counts.most_common(10):
            last = next(record for record in reversed(records) if (record.controller, record.key) == (controller, key))
            line = f"{controller} reconciled {key} {count} times, last because of {last.cause}: {last.result}"
            lines.append(f"{line}, {last.error}" if last.error else line)
        return lines
