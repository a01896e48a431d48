"""Base class of controllers: informers → queue → ``reconcile(key)``."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from steersman.asynckit.stopping import run_unless_stopped
from steersman.asynckit.tasks import Supervisor
from steersman.client.changes import Added, Updated
from steersman.client.objects import key_of, resource_version_of
from steersman.runtime.own_writes import OwnWrites
from steersman.runtime.periodic import run_every
from steersman.runtime.reconcile_log import ReconcileLog, logged_periodic, make_queue
from steersman.runtime.workers import Workers, WorkPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping

    from steersman.client.changes import Change
    from steersman.client.client import ResourceLike
    from steersman.client.informer import Informer
    from steersman.client.workqueue import RateLimiter, WorkQueue
    from steersman.runtime.context import ControllerContext
    from steersman.runtime.result import Result

T = TypeVar("T")
K = TypeVar("K", bound="Hashable")

#: Priority of keys from initial lists and resyncs: behind changes, without starvation.
LOW_PRIORITY: Final = -100


class Controller(ABC):
    """Base class: a subclass declares in ``__init__`` what it watches and implements ``reconcile``.

    One worker processes a key at a time. A reconcile that raises is logged, counted and retried with backoff; one that
    returns is not called again until a change, or as its ``Result`` requests.
    """

    #: Name in logs, metrics and tasks, source of events and field manager of writes.
    name: ClassVar[str]
    #: Name of its queue in metrics (``workqueue_*``) if upstream has another; empty for the controller's name.
    queue_name: ClassVar[str] = ""
    #: A reconcile that takes longer is cancelled and counts as failed; None: no bound.
    reconcile_timeout_seconds: ClassVar[float | None] = None
    #: Consecutive failures after which a key waits for a change; None: unlimited retries.
    retries_max: ClassVar[int | None] = None

    def __init__(
        self, context: ControllerContext, *, workers: int = 1, rate_limiter: RateLimiter[str] | None = None
    ) -> None:
        self.context: Final = context
        self.client: Final = context.client
        self.clock: Final = context.clock
        self.dice: Final = context.dice
        self.log: Final = logging.getLogger(f"steersman.controllers.{self.name}")
        self.recorder: Final = context.events.recorder(self.name)
        self.own_writes: Final = OwnWrites(self.log)
        #: Informers to sync before the first reconcile.
        self._informers: list[Informer[Any]] = []
        #: Workers of each queue.
        self._workers: list[Workers[Any]] = []
        #: Name and factory of the periodic tasks.
        self._background: list[tuple[str, Callable[[], Coroutine[Any, Any, None]]]] = []
        self._ready = asyncio.Event()
        self._stop_requested = asyncio.Event()
        self.queue: Final[WorkQueue[str]] = self.add_queue(
            self.name, self._reconcile, workers=workers, rate_limiter=rate_limiter, metrics_name=self.queue_name
        )

    @abstractmethod
    async def reconcile(self, key: str) -> Result | None:
        """Move the cluster towards the desired state of ``key``. Level-triggered; also called for deleted objects."""

    # Watches

    def informer(self, resource_type: ResourceLike[T], **selection: Any) -> Informer[T]:
        """Return the shared informer (see ``InformerFactory.informer``), synced before the first reconcile."""
        informer = self.context.informers.informer(resource_type, **selection)
        if informer not in self._informers:
            self._informers.append(informer)
        return informer

    def watch(
        self,
        resource_type: ResourceLike[T],
        *,
        keys: Callable[[T], Iterable[str]] | None = None,
        when: Callable[[Change[T]], bool] | None = None,
        namespace: str | None = None,
        label_selector: str | Mapping[str, str] = "",
        field_selector: str | Mapping[str, str] = "",
    ) -> Informer[T]:
        """Queue ``keys(obj)`` for each change that passes ``when``; without ``keys``, the object's own key.

        For an update the keys of both the old and the new object are queued, so that a key that is no longer
        referenced is reconciled too.
        """
        informer = self.informer(
            resource_type, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )

        def changed(change: Change[T]) -> None:
            if when is None or when(change):
                self.enqueue_change(change, keys)

        informer.add_callback(changed)
        return informer

    def enqueue_change(self, change: Change[T], keys: Callable[[T], Iterable[str]] | None = None) -> None:
        """Queue the keys of a change; initial lists and resyncs with low priority."""
        named = _own_key if keys is None else keys
        named_keys = dict.fromkeys(named(change.latest))
        if keys is not None and isinstance(change, Updated):
            named_keys |= dict.fromkeys(keys(change.old))
        priority = LOW_PRIORITY if _is_no_news(change) else 0
        for key in named_keys:
            self.queue.add(key, priority=priority)

    def enqueue(self, obj: Any) -> None:
        """Queue an object's key."""
        self.queue.add(key_of(obj))

    def enqueue_after(self, obj: Any, seconds: float) -> None:
        """Queue an object's key after a delay."""
        self.queue.add_after(key_of(obj), seconds)

    # Queues and periodic calls

    def add_queue(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[Result | None]],
        *,
        workers: int = 1,
        rate_limiter: RateLimiter[K] | None = None,
        metrics_name: str = "",
    ) -> WorkQueue[K]:
        """Add a queue with its own workers, for a controller that reconciles a second kind of key.

        ``metrics_name``: name in ``workqueue_*`` metrics; empty for ``name``.
        """
        queue: WorkQueue[K] = make_queue(
            self.log,
            name,
            clock=self.clock,
            rate_limiter=rate_limiter,
            metrics=self.context.metrics.queue(metrics_name or name),
        )
        policy = WorkPolicy(workers, timeout_seconds=self.reconcile_timeout_seconds, retries_max=self.retries_max)
        metrics = self.context.metrics.controller(name)
        self._workers.append(
            Workers(
                queue,
                reconcile,
                policy=policy,
                clock=self.clock,
                metrics=metrics,
                log=self.log,
                reconcile_log=ReconcileLog.for_queue(self.log, queue),
            )
        )
        return queue

    def every(
        self,
        seconds: float,
        work: Callable[[], Awaitable[object]],
        *,
        jitter: float = 0.0,
        name: str = "",
        wait_until_needed: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Call ``work`` now, and again ``seconds`` after the end of each call, plus a jitter of up to ``jitter * seconds``.

        ``wait_until_needed`` is awaited before each call, e.g. until an object exists. Failures are logged.
        """
        name = name or getattr(work, "__name__", "periodic")
        work = logged_periodic(self.log, work, controller=self.name, name=name, clock=self.clock)

        async def call() -> None:
            if wait_until_needed is not None:
                await wait_until_needed()
            await work()

        async def again_and_again() -> None:
            await run_every(seconds, call, jitter=jitter, clock=self.clock, dice=self.dice, log=self.log)

        self._background.append((name, again_and_again))

    # Lifecycle

    @property
    def is_ready(self) -> bool:
        """True if the caches are synced and the workers run."""
        return self._ready.is_set()

    async def wait_ready(self) -> None:
        """Wait until ``is_ready`` holds for the first time."""
        await self._ready.wait()

    async def start(self) -> None:  # noqa: B027 — there need not be anything to do
        """Hook for subclasses, called once when the caches are synced, before the first reconcile."""

    async def run(self) -> None:
        """Process keys until ``stop`` (running reconciles finish) or cancellation (they are cancelled).

        The context's informers must have been started. May be called once.
        """
        if not await run_unless_stopped(self._sync_and_start(), self._stop_requested):
            return
        self.log.info("%s starts", self.name)
        background = Supervisor(self.name)
        try:
            for name, work in self._background:
                background.start(name, work())
            self._ready.set()
            async with asyncio.TaskGroup() as group:
                for workers in self._workers:
                    group.create_task(workers.run(), name=workers.queue.name)
        finally:
            self._ready.clear()
            await background.close()
            self.log.info("%s has ended", self.name)

    async def _sync_and_start(self) -> None:
        for informer in self._informers:
            await informer.wait_synced()
        await self.start()

    def stop(self) -> None:
        """Start no further reconcile; ``run`` returns when the running ones have ended. Idempotent.

        A controller whose caches are not synced returns immediately, since they may never sync.
        """
        self._stop_requested.set()
        for workers in self._workers:
            workers.stop()

    async def _reconcile(self, key: str) -> Result | None:
        await self.own_writes.await_seen(key)
        return await self.reconcile(key)


def _own_key(obj: Any) -> tuple[str]:
    return (key_of(obj),)


def _is_no_news(change: Change[Any]) -> bool:
    if isinstance(change, Added):
        return change.is_initial
    return isinstance(change, Updated) and resource_version_of(change.old) == resource_version_of(change.new)
