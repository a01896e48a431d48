"""Workers of one queue: take a key, reconcile it, requeue or forget it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from steersman.apimachinery.errors import StatusError, is_conflict
from steersman.asynckit.cancellation import is_ending
from steersman.asynckit.timeouts import Timeout
from steersman.client.errors import ClientError
from steersman.client.workqueue import ShutDown
from steersman.runtime.reconcile_log import Attempt
from steersman.runtime.result import Outcome, outcome_of

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Hashable, Iterator

    from steersman.asynckit.clock import Clock
    from steersman.client.workqueue import WorkQueue
    from steersman.runtime.metrics import ReconcileMetrics
    from steersman.runtime.reconcile_log import ReconcileLog
    from steersman.runtime.result import Result

K = TypeVar("K", bound="Hashable")


@dataclass(frozen=True, slots=True)
class WorkPolicy:
    """Number of workers, deadline and retries of a queue."""

    workers: int = 1
    #: A reconcile that takes longer is cancelled and counts as failed; None: no bound.
    timeout_seconds: float | None = None
    #: Consecutive failures after which a key waits for a change; None: unlimited retries.
    retries_max: int | None = None


class Workers(Generic[K]):
    """Workers that process keys of a queue until it is shut down. No failure of a reconcile ends a worker.

    A worker is started only when all others are busy, up to the number in the policy.
    """

    def __init__(
        self,
        queue: WorkQueue[K],
        reconcile: Callable[[K], Awaitable[Result | None]],
        *,
        policy: WorkPolicy,
        clock: Clock,
        metrics: ReconcileMetrics,
        log: logging.Logger,
        reconcile_log: ReconcileLog | None = None,
    ) -> None:
        """``reconcile_log``: log of reconciles; None if disabled."""
        self.queue = queue
        self._reconcile = reconcile
        self._policy = policy
        self._clock = clock
        self._metrics = metrics
        self._log = log
        self._reconcile_log = reconcile_log
        self._stopping = False
        #: Task group of the workers during ``run``.
        self._group: asyncio.TaskGroup
        self._started = 0
        #: Number of idle workers.
        self._free = 0

    async def run(self) -> None:
        """Process keys until ``stop`` (running reconciles finish) or cancellation (they are cancelled)."""
        self._metrics.set_workers(self._policy.workers)
        try:
            async with asyncio.TaskGroup() as self._group:
                self._ensure_free()
        finally:
            self.queue.shut_down()

    def stop(self) -> None:
        """Start no further reconcile. Idempotent."""
        self._stopping = True
        self.queue.shut_down()

    def _ensure_free(self) -> None:
        """Start a worker for the next key if all others are busy and the policy allows another."""
        if not self._free and self._started < self._policy.workers:
            self._group.create_task(self._work(), name=f"{self.queue.name}: worker {self._started}")
            self._started += 1
            self._free += 1

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            self._free -= 1
            try:
                if not self._stopping:
                    self._ensure_free()
                    with self._metrics.in_progress():
                        if self._reconcile_log is None:
                            await self._process(key)
                        else:
                            await self._reconcile_log.follow(key, self._process)
            finally:
                self.queue.done(key)
                self._free += 1

    async def _process(self, key: K) -> Attempt:
        started = self._clock.monotonic()
        result: Result | None = None
        failure: Exception | None = None
        try:
            async with Timeout(self._policy.timeout_seconds, clock=self._clock):
                result = await self._reconcile(key)
        except asyncio.CancelledError as error:
            if is_ending():
                raise
            failure = RuntimeError("what the reconcile waited for was cancelled")
            failure.__cause__ = error
        except Exception as error:  # noqa: BLE001 — whatever it is: logged, counted and tried again
            failure = error
        outcome = outcome_of(
            result, failure, failures=self.queue.num_requeues(key), retries_max=self._policy.retries_max
        )
        seconds = self._clock.monotonic() - started
        self._metrics.done(outcome, seconds)
        if failure is not None:
            self._report(key, failure, outcome)
        self._follow(key, outcome, result)
        return Attempt(outcome, result, failure, seconds)

    def _follow(self, key: K, outcome: Outcome, result: Result | None) -> None:
        """Requeue or forget the key. The worker has not called ``done`` yet, so that nothing starts immediately."""
        if outcome in (Outcome.ERROR, Outcome.REQUEUE):
            self.queue.add_rate_limited(key)
            return
        self.queue.forget(key)
        if outcome is Outcome.REQUEUE_AFTER and result is not None and result.requeue_after_seconds is not None:
            self.queue.add_after(key, result.requeue_after_seconds)

    def _report(self, key: K, error: Exception, outcome: Outcome) -> None:
        """Log a failure: a conflict as info, an API or client error as warning, any other exception with its traceback."""
        follows = "will not be tried again" if outcome is Outcome.TERMINAL else "will be tried again"
        causes = list(_causes(error))
        messages = "; ".join(dict.fromkeys(str(cause) for cause in causes))
        if all(is_conflict(cause) for cause in causes):
            self._log.info("%s: reconciling %s %s: %s", self.queue.name, key, follows, messages)
        elif all(isinstance(cause, StatusError | ClientError) for cause in causes):
            self._log.warning("%s: reconciling %s %s: %s", self.queue.name, key, follows, messages)
        else:
            self._log.error("%s: reconciling %s failed, %s", self.queue.name, key, follows, exc_info=error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception, or the leaves of an exception group."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _causes(one)
    else:
        yield error
