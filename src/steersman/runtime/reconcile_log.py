"""Log of reconciles, enabled by ``-v 2``: one line for each key, with its cause and actions.

A controller makes these parts only if its logger is enabled for ``V2`` when it is constructed, or within ``recording``;
otherwise its queue and workers have no overhead.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from steersman.apimachinery.durations import format_duration
from steersman.asynckit.structured_logging import V2, log_fields
from steersman.client.actions import ACTIONS, Actions
from steersman.client.causes import TRACED, caused_by, current_cause
from steersman.client.workqueue import WorkQueue
from steersman.runtime.result import Outcome

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Hashable, Iterator

    from steersman.asynckit.clock import Clock
    from steersman.client.workqueue import RateLimiter
    from steersman.client.workqueue.metrics import QueueMetrics
    from steersman.runtime.result import Result

K = TypeVar("K", bound="Hashable")

_UNKNOWN: Final = "queued by the controller"


class Cause:
    """First cause of a queued key, and the number of later ones that were merged with it."""

    __slots__ = ("first", "merged")

    def __init__(self, first: str) -> None:
        self.first = first
        self.merged = 0

    def __str__(self) -> str:
        return f"{self.first} (and {self.merged} more)" if self.merged else self.first


class TracedWorkQueue(WorkQueue[K]):
    """Work queue that records the cause of each key."""

    def __init__(
        self,
        name: str = "",
        *,
        clock: Clock | None = None,
        rate_limiter: RateLimiter[K] | None = None,
        metrics: QueueMetrics | None = None,
    ) -> None:
        super().__init__(name, clock=clock, rate_limiter=rate_limiter, metrics=metrics)
        #: Causes of queued keys, and of keys that will be queued when their worker is done.
        self._causes: dict[K, Cause] = {}
        #: Causes of delayed keys.
        self._delayed_causes: dict[K, str] = {}

    def add(self, key: K, *, priority: int = 0) -> None:
        """Add a key; see ``WorkQueue.add``."""
        if not self.shutting_down:
            self._note(key, current_cause() or self._delayed_causes.pop(key, "") or _UNKNOWN)
        super().add(key, priority=priority)

    def add_after(self, key: K, seconds: float, *, priority: int = 0) -> None:
        """Add a key later; see ``WorkQueue.add_after``."""
        if seconds > 0 and not self.shutting_down:
            self._delayed_causes.setdefault(key, current_cause() or f"requeued after {format_duration(seconds)}")
        super().add_after(key, seconds, priority=priority)

    def add_rate_limited(self, key: K, *, priority: int = 0) -> float:
        """Add a key after its backoff; see ``WorkQueue.add_rate_limited``."""
        with caused_by(f"retry {self.num_requeues(key) + 1}"):
            return super().add_rate_limited(key, priority=priority)

    def shut_down(self) -> None:
        """Shut down; see ``WorkQueue.shut_down``."""
        super().shut_down()
        self._delayed_causes.clear()

    def take_cause(self, key: K) -> str:
        """Remove and return the cause of ``key``, which a worker has taken."""
        cause = self._causes.pop(key, None)
        return _UNKNOWN if cause is None else str(cause)

    def _fire(self) -> None:
        # The timer runs in the context of its creator, whose cause belongs to another key.
        with caused_by(""):
            super()._fire()

    def _note(self, key: K, cause: str) -> None:
        recorded = self._causes.get(key)
        if recorded is None:
            self._causes[key] = Cause(cause)
        elif recorded.first != cause:
            recorded.merged += 1


class Attempt(NamedTuple):
    """Result of one reconcile."""

    outcome: Outcome
    result: Result | None
    failure: Exception | None
    duration_seconds: float


class ReconcileRecorder(Protocol):
    """Receiver of every reconcile, for tools that observe controllers. Called on the event loop, must not block."""

    def queue_made(self, queue: WorkQueue[Any]) -> None:
        """Record a new queue."""

    def started(self, controller: str, key: str, cause: str) -> None:
        """Record the start of a reconcile, in its context."""

    def finished(self, controller: str, key: str, cause: str, attempt: Attempt, actions: str) -> None:
        """Record the end of a reconcile; ``actions`` summarizes its writes."""


_RECORDER: Final[ContextVar[ReconcileRecorder | None]] = ContextVar("reconcile recorder", default=None)


@contextmanager
def recording(recorder: ReconcileRecorder) -> Iterator[None]:
    """Record the reconciles of the controllers that are constructed in the block."""
    tokens = _RECORDER.set(recorder), TRACED.set(True)
    try:
        yield
    finally:
        _RECORDER.reset(tokens[0])
        TRACED.reset(tokens[1])


class ReconcileLog:
    """Log of the reconciles of one queue, which also passes them to the recorder."""

    def __init__(self, log: logging.Logger, queue: TracedWorkQueue[Any]) -> None:
        self._log = log
        self._queue = queue
        self._recorder = _RECORDER.get()

    @classmethod
    def for_queue(cls, log: logging.Logger, queue: WorkQueue[Any]) -> ReconcileLog | None:
        """Return the log of a queue made by ``make_queue``; None if reconciles are not logged."""
        return cls(log, queue) if isinstance(queue, TracedWorkQueue) else None

    async def follow(self, key: K, reconcile: Callable[[K], Awaitable[Attempt]]) -> None:
        """Run one reconcile, count its writes, and log it."""
        cause = self._queue.take_cause(key)
        actions = Actions()
        token = ACTIONS.set(actions)
        recorder = self._recorder
        if recorder is not None:
            recorder.started(self._queue.name, str(key), cause)
        try:
            attempt = await reconcile(key)
        finally:
            ACTIONS.reset(token)
        if recorder is not None:
            recorder.finished(self._queue.name, str(key), cause, attempt, str(actions))
        if self._log.isEnabledFor(V2):
            fields = {"controller": self._queue.name, "key": str(key), "cause": cause, "actions": str(actions)}
            duration = {"duration": format_duration(attempt.duration_seconds)}
            log_fields(self._log, V2, "Finished syncing", fields | _follow_up(attempt) | duration)


def make_queue(
    log: logging.Logger,
    name: str,
    *,
    clock: Clock,
    rate_limiter: RateLimiter[K] | None,
    metrics: QueueMetrics,
) -> WorkQueue[K]:
    """Return a work queue; it records causes if reconciles are logged or recorded."""
    recorder = _RECORDER.get()
    queue_type: type[WorkQueue[K]] = TracedWorkQueue if log.isEnabledFor(V2) or recorder is not None else WorkQueue
    queue = queue_type(name, clock=clock, rate_limiter=rate_limiter, metrics=metrics)
    if recorder is not None:
        recorder.queue_made(queue)
    return queue


def logged_periodic(
    log: logging.Logger, work: Callable[[], Awaitable[object]], *, controller: str, name: str, clock: Clock
) -> Callable[[], Awaitable[object]]:
    """Return ``work``, wrapped to log each call if ``log`` is enabled for reconciles."""
    if not log.isEnabledFor(V2):
        return work

    async def call() -> None:
        actions = Actions()
        token = ACTIONS.set(actions)
        started = clock.monotonic()
        try:
            await work()
        finally:
            ACTIONS.reset(token)
            fields = {"controller": controller, "key": name, "cause": "periodic", "actions": str(actions)}
            fields["duration"] = format_duration(clock.monotonic() - started)
            log_fields(log, V2, "Finished syncing", fields)

    call.__name__ = getattr(work, "__name__", name)
    return call


def _follow_up(attempt: Attempt) -> dict[str, str]:
    """Return the outcome of a reconcile: its error, or when the key is reconciled again."""
    fields = {"result": attempt.outcome.value}
    if attempt.failure is not None:
        fields["err"] = str(attempt.failure) or type(attempt.failure).__name__
    elif attempt.outcome is Outcome.REQUEUE_AFTER and attempt.result is not None:
        fields["requeueAfter"] = format_duration(attempt.result.requeue_after_seconds or 0.0)
    return fields
