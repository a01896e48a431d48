"""Shared informer: an in-memory cache of one resource that follows the server and notifies listeners of each change.

Upstream: ``k8s.io/client-go/tools/cache.SharedIndexInformer``. ``reflector`` lists and watches, ``store`` holds the
objects, ``listeners`` deliver the changes, ``informer_factory`` shares informers.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for
from steersman.client.causes import begin_delivery, end_delivery, is_traced
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.decoding import DELETED
from steersman.client.errors import ClientError
from steersman.client.listeners import CAPACITY, Callback, Handler, Overflow
from steersman.client.metadata_interner import MetadataInterner
from steersman.client.mutation_detector import MutationDetector
from steersman.client.objects import compare_versions, key_of, resource_version_of, uid_of
from steersman.client.reflector import Reflector
from steersman.client.store import Lister, Store, keyed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from types import TracebackType

    from steersman.asynckit.clock import Clock
    from steersman.client.causes import Delivery
    from steersman.client.changes import Change
    from steersman.client.listeners import Listener
    from steersman.client.reflector import ReflectorOptions
    from steersman.client.source import Source

T = TypeVar("T")


class InformerClosed(ClientError):  # noqa: N818 — named by the condition, like its siblings
    """The informer was closed before the awaited condition held."""


class Informer(Generic[T]):
    """Cache of one resource: start it, wait until it is synced, read its ``lister``, add listeners.

    Objects in the cache and in changes are shared and must not be modified.
    """

    def __init__(
        self,
        source: Source[T],
        *,
        clock: Clock,
        dice: random.Random | None = None,
        transform: Callable[[T], T] | None = None,
        resync_seconds: float | None = None,
        options: ReflectorOptions | None = None,
        detect_mutations: bool = False,
    ) -> None:
        """Create an informer.

        ``transform`` returns the object to cache for each received object, and may modify its argument.

        ``resync_seconds``: with this period (plus up to 10 % jitter) listeners receive an ``Updated`` for each cached
        object, without requests to the server; for controllers whose reconcile depends on more than objects.

        ``detect_mutations`` is for tests: ``close`` raises ``CacheMutated`` if a cached object was modified.
        """
        self._source = source
        self._clock = clock
        self._dice = dice or random.Random()  # noqa: S311 — jitter
        self._transform = transform
        self._resync_seconds = resync_seconds
        self._interner = MetadataInterner()
        self._store: Store[T] = Store()
        self._reflector: Reflector[T] = Reflector(source, self, clock=clock, dice=self._dice, options=options)
        self._detector = MutationDetector() if detect_mutations else None
        self._listeners: list[Listener] = []
        #: True if changes are published as causes of the keys that callbacks queue.
        self._publishes_causes = False
        self._supervisor = Supervisor(f"informer {source.name}")
        self._started = False
        self._synced = False
        self._closed = False
        #: Held while a change is delivered, so that all listeners receive changes in the same order.
        self._delivery_lock = asyncio.Lock()
        #: Waiting callers and their conditions, evaluated after each batch of changes.
        self._waiters: dict[asyncio.Future[None], Callable[[], bool]] = {}
        self.lister: Final = Lister(self._store)

    # Life cycle

    def start(self) -> None:
        """Start the reflector. Idempotent."""
        if self._started:
            return
        self._started = True
        self._supervisor.start("reflector", self._reflector.run())
        if self._resync_seconds:
            self._supervisor.start("resync", self._resync(self._resync_seconds))

    def cancel(self) -> None:
        """Begin to stop; ``close`` waits for the end. Idempotent."""
        self._supervisor.cancel()

    async def close(self) -> None:
        """Stop the informer; the cache stays readable. Idempotent.

        Raises ``CacheMutated`` with ``detect_mutations``.
        """
        await self._supervisor.close()
        self._closed = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(self._closed_error())
        if self._detector is not None:
            self._detector.check(self.name)

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # State

    @property
    def name(self) -> str:
        """Group resource: ``pods``, ``deployments.apps``."""
        return self._source.name

    @property
    def resource_version(self) -> str:
        """Newest resource version that the cache has reached; empty before the first list."""
        return self._reflector.position.newest

    @property
    def has_synced(self) -> bool:
        """True if the cache holds a complete list and callbacks have received it."""
        return self._synced

    @property
    def watching_seconds(self) -> float:
        """Seconds for which the present watch has delivered changes; 0 without a watch, when the cache may be stale."""
        return self._reflector.watching_seconds

    async def wait_synced(self, *, timeout_seconds: float | None = None) -> None:
        """Wait for ``has_synced``. Raises ``TimeoutError``, ``InformerClosed``."""
        await self._wait_until(lambda: self.has_synced, timeout_seconds)

    async def wait_seen(self, written: T | str, *, key: str = "", timeout_seconds: float | None = None) -> None:
        """Wait until the cache is at least as new as ``written``.

        An object returned by a write, or its resource version.

        After that a reconcile reads its own last write. A version without the object's ``key``, or an object outside of
        the informer's selection, counts as seen with the next event or bookmark, which may take a minute. Raises
        ``TimeoutError``.
        """
        if isinstance(written, str):
            version = written
        else:
            version, key = resource_version_of(written), key_of(written)
        await self._wait_until(lambda: self._is_seen(version, key), timeout_seconds)

    async def wait_deleted(self, key: str, *, uid: str = "", timeout_seconds: float | None = None) -> None:
        """Wait until the cache no longer holds the object (with this UID). Raises ``TimeoutError``."""

        def is_gone() -> bool:
            cached = self._store.get(key)
            return self.has_synced and (cached is None or bool(uid and uid_of(cached) != uid))

        await self._wait_until(is_gone, timeout_seconds)

    def _is_seen(self, version: str, key: str) -> bool:
        if not self.has_synced:
            return False
        if self._reflector.position.has_reached(version):
            return True
        cached = self._store.get(key) if key else None
        if cached is None:
            return False
        order = compare_versions(resource_version_of(cached), version)
        return order is not None and order >= 0

    async def _wait_until(self, condition: Callable[[], bool], timeout_seconds: float | None) -> None:
        if condition():
            return
        if self._closed:
            raise self._closed_error()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = condition
        try:
            await wait_for(waiter, timeout_seconds, clock=self._clock)
        finally:
            self._waiters.pop(waiter, None)

    def _closed_error(self) -> InformerClosed:
        return InformerClosed(f"the informer of {self.name} was closed")

    # Indexes and listeners

    def add_index(self, name: str, values_of: Callable[[T], Iterable[str]]) -> None:
        """Add an index on the values of ``values_of``. Raises ValueError if the name has another function."""
        self._store.add_index(name, values_of)

    def add_callback(self, call: Callable[[Change[T]], None]) -> Callback[T]:
        """Call ``call`` synchronously for each change, and now for each object in the cache; ``call`` must be quick.

        For handlers that only add keys to a queue.
        """
        listener = Callback(call)
        self._publishes_causes = self._publishes_causes or is_traced()
        for obj in [*self._store.values()]:
            change = Added(obj, is_initial=True)
            delivery = self._begin_delivery(change)
            try:
                listener.notify(change)
            finally:
                end_delivery(delivery)
        self._listeners.append(listener)
        return listener

    def add_handler(
        self,
        call: Callable[[Change[T]], Awaitable[None]],
        *,
        capacity: int = CAPACITY,
        overflow: Overflow = Overflow.WAIT,
    ) -> Handler[T]:
        """Await ``call`` for each change, one at a time, in a task of its own; first for each object in the cache.

        At most ``capacity`` changes are queued; ``overflow`` defines the handling of further ones.
        """
        handler = Handler(call, initial=[*self._store.values()], capacity=capacity, overflow=overflow)
        self._listeners.append(handler)
        self._supervisor.start(f"handler {getattr(call, '__qualname__', call)}", handler.run())
        return handler

    def remove(self, listener: Listener) -> None:
        """Stop notifying a listener; a handler still receives its queued changes. Idempotent."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    # Called by the reflector (``reflector.Sink``)

    def transform(self, obj: T) -> T:
        """Return the object to cache for a received object."""
        if self._transform is not None:
            obj = self._transform(obj)
        self._interner.intern(obj)
        return obj

    async def replace(self, objects: list[T]) -> None:
        """Replace the cache with a complete list."""
        fresh = keyed(objects)
        is_initial = not self.has_synced
        async with self._delivery_lock:
            for key in self._store.snapshot_keys():
                if key not in fresh:
                    await self._remove(key, None)
            for key, obj in fresh.items():
                await self._put(key, obj, is_initial=is_initial)

    async def change(self, kind: str, obj: T) -> None:
        """Apply one watch event."""
        key = key_of(obj)
        async with self._delivery_lock:
            if kind == DELETED:
                await self._remove(key, obj)
            else:
                await self._put(key, obj)

    def progressed(self) -> None:
        """Wake waiting callers after a batch of changes."""
        self._synced = True
        for waiter, condition in list(self._waiters.items()):
            if not waiter.done() and condition():
                waiter.set_result(None)

    async def _put(self, key: str, obj: T, *, is_initial: bool = False) -> None:
        old = self._store.get(key)
        if old is not None and (version := resource_version_of(obj)) and resource_version_of(old) == version:
            return
        if old is not None and uid_of(old) != uid_of(obj):
            await self._remove(key, None)
            old = None
        self._store.put(key, obj)
        if self._detector is not None:
            self._detector.put(key, obj)
        await self._deliver(Added(obj, is_initial) if old is None else Updated(old, obj))

    async def _remove(self, key: str, last: T | None) -> None:
        """Remove an object. ``last`` is its final state; None: the deletion event was missed."""
        old = self._store.remove(key)
        if self._detector is not None:
            self._detector.remove(key)
        if old is not None:
            await self._deliver(Deleted(old, final_state_unknown=True) if last is None else Deleted(last))

    async def _deliver(self, change: Change[Any]) -> None:
        delivery = self._begin_delivery(change)
        try:
            for listener in tuple(self._listeners):  # a listener added meanwhile receives the object from the cache
                if isinstance(listener, Callback):
                    listener.notify(change)
                else:
                    await listener.offer(change)
        finally:
            end_delivery(delivery)

    def _begin_delivery(self, change: Change[Any]) -> Delivery | None:
        if not self._publishes_causes:
            return None
        return begin_delivery(getattr(self._source, "kind", self.name), change)

    async def _resync(self, period_seconds: float) -> None:
        while True:
            await self._clock.sleep(period_seconds * (1 + self._dice.random() / 10))
            for key in self._store.snapshot_keys():
                async with self._delivery_lock:
                    obj = self._store.get(key)
                    if obj is not None:
                        await self._deliver(Updated(obj, obj))
