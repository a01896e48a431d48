"""A cache of one resource that stays as the server is, and tells of each change; shared by all who need it."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from steersman.asynckit.tasks import Supervisor
from steersman.asynckit.timeouts import wait_for
from steersman.client.causes import traced
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.decoding import DELETED
from steersman.client.errors import ClientError
from steersman.client.listeners import CAPACITY, Callback, Handler, Overflow
from steersman.client.mutation_detector import MutationDetector
from steersman.client.objects import compare_versions, key_of, resource_version_of, uid_of
from steersman.client.reflector import Reflector
from steersman.client.sharing import Sharing
from steersman.client.store import Lister, Store, keyed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from types import TracebackType

    from steersman.asynckit.clock import Clock
    from steersman.client.changes import Change
    from steersman.client.listeners import Listener
    from steersman.client.reflector import ReflectorOptions
    from steersman.client.source import Source

T = TypeVar("T")


class InformerClosed(ClientError):  # noqa: N818 — says what happened, as its siblings do
    """What was waited for will not be seen any more."""


class Informer(Generic[T]):
    """Start it, wait until it is synced, read its ``lister``; listen for changes.

    Objects in the cache and in changes are shared: nobody may change them.
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
        """``transform`` makes of each object what is kept of it; it may change the object it is given.

        ``resync_seconds``: every so often (up to a tenth later) listeners hear of each object in the cache anew, with
        no request to the server; for those whose reconcile depends on more than objects.

        ``detect_mutations`` is for tests: ``close`` raises ``CacheMutated`` if somebody changed an object of the cache.
        """
        self._source = source
        self._clock = clock
        self._dice = dice or random.Random()  # noqa: S311 — jitter
        self._transform = transform
        self._resync_seconds = resync_seconds
        self._sharing = Sharing()
        self._store: Store[T] = Store()
        self._reflector: Reflector[T] = Reflector(source, self, clock=clock, dice=self._dice, options=options)
        self._detector = MutationDetector() if detect_mutations else None
        self._listeners: list[Listener] = []
        self._supervisor = Supervisor(f"informer {source.name}")
        self._started = False
        self._synced = False
        self._closed = False
        #: Held while a change is on its way to all listeners, so that each hears of them in one order.
        self._telling = asyncio.Lock()
        #: Who waits for something to be so; asked after each batch of changes.
        self._waiters: dict[asyncio.Future[None], Callable[[], bool]] = {}
        self.lister: Final = Lister(self._store)

    # Life

    def start(self) -> None:
        """Begin to follow the server. Idempotent."""
        if self._started:
            return
        self._started = True
        self._supervisor.start("reflector", self._reflector.run())
        if self._resync_seconds:
            self._supervisor.start("resync", self._resync(self._resync_seconds))

    async def close(self) -> None:
        """Stop; what is in the cache stays readable. Idempotent. Raises ``CacheMutated`` if that was to be detected."""
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

    # What is known

    @property
    def name(self) -> str:
        """The group resource: ``pods``, ``deployments.apps``."""
        return self._source.name

    @property
    def resource_version(self) -> str:
        """The newest version that the cache has seen; empty before the first list."""
        return self._reflector.position.newest

    @property
    def has_synced(self) -> bool:
        """Whether the cache holds a whole list, and callbacks have heard of it."""
        return self._synced

    async def wait_synced(self, *, timeout_seconds: float | None = None) -> None:
        """Wait for ``has_synced``. Raises ``TimeoutError``, ``InformerClosed``."""
        await self._until(lambda: self.has_synced, timeout_seconds)

    async def has_seen(self, written: T | str, *, key: str = "", timeout_seconds: float | None = None) -> None:
        """Wait until the cache is at least as new as ``written``: an object as a write answered it, or its version.

        After it a reconcile reads its own last write. A version without the object's ``key``, or an object that the
        selection leaves out, is seen with the next change or bookmark, which may take a minute. Raises ``TimeoutError``.
        """
        if isinstance(written, str):
            version = written
        else:
            version, key = resource_version_of(written), key_of(written)
        await self._until(lambda: self._is_seen(version, key), timeout_seconds)

    async def has_dropped(self, key: str, *, uid: str = "", timeout_seconds: float | None = None) -> None:
        """Wait until the cache no longer has the object (of this UID): what ``has_seen`` is for deletions."""

        def is_gone() -> bool:
            known = self._store.get(key)
            return self.has_synced and (known is None or bool(uid and uid_of(known) != uid))

        await self._until(is_gone, timeout_seconds)

    def _is_seen(self, version: str, key: str) -> bool:
        if not self.has_synced:
            return False
        if self._reflector.position.has_reached(version):
            return True
        known = self._store.get(key) if key else None
        if known is None:
            return False
        order = compare_versions(resource_version_of(known), version)
        return order is not None and order >= 0

    async def _until(self, is_so: Callable[[], bool], timeout_seconds: float | None) -> None:
        if is_so():
            return
        if self._closed:
            raise self._closed_error()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = is_so
        try:
            await wait_for(waiter, timeout_seconds, clock=self._clock)
        finally:
            self._waiters.pop(waiter, None)

    def _closed_error(self) -> InformerClosed:
        return InformerClosed(f"the informer of {self.name} was closed")

    # Who listens

    def add_index(self, name: str, values_of: Callable[[T], Iterable[str]]) -> None:
        """Let the lister find objects by what ``values_of`` says; raises ValueError for another index of that name."""
        self._store.add_index(name, values_of)

    def add_callback(self, call: Callable[[Change[T]], None]) -> Callback[T]:
        """Call at once for each change, and now for each object that is in the cache; ``call`` must be quick.

        For a handler that only puts keys into a queue.
        """
        listener = Callback(traced(call, getattr(self._source, "kind", self.name)))
        for obj in [*self._store.values()]:
            listener.tell(Added(obj, is_initial=True))
        self._listeners.append(listener)
        return listener

    def add_handler(
        self,
        call: Callable[[Change[T]], Awaitable[None]],
        *,
        capacity: int = CAPACITY,
        overflow: Overflow = Overflow.WAIT,
    ) -> Handler[T]:
        """Await ``call`` for each change, one after the other, in a task of its own; first for what is in the cache.

        At most ``capacity`` changes wait; ``overflow`` says what happens to more.
        """
        handler = Handler(call, initial=[*self._store.values()], capacity=capacity, overflow=overflow)
        self._listeners.append(handler)
        self._supervisor.start(f"handler {getattr(call, '__qualname__', call)}", handler.run())
        return handler

    def remove(self, listener: Listener) -> None:
        """Tell it nothing more; what waits for a handler is still handed over. Idempotent."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    # What the reflector does (``reflector.Sink``)

    def kept(self, obj: T) -> T:
        """What is kept of an object that came."""
        if self._transform is not None:
            obj = self._transform(obj)
        self._sharing.share(obj)
        return obj

    async def replace(self, objects: list[T]) -> None:
        """A whole list came."""
        fresh = keyed(objects)
        is_initial = not self.has_synced
        async with self._telling:
            for key in self._store.snapshot_keys():
                if key not in fresh:
                    await self._remove(key, None)
            for key, obj in fresh.items():
                await self._put(key, obj, is_initial=is_initial)

    async def change(self, kind: str, obj: T) -> None:
        """One change came."""
        key = key_of(obj)
        async with self._telling:
            if kind == DELETED:
                await self._remove(key, obj)
            else:
                await self._put(key, obj)

    def progressed(self) -> None:
        """A batch is in the cache."""
        self._synced = True
        for waiter, is_so in list(self._waiters.items()):
            if not waiter.done() and is_so():
                waiter.set_result(None)

    async def _put(self, key: str, obj: T, *, is_initial: bool = False) -> None:
        old = self._store.get(key)
        if old is not None and resource_version_of(obj) and resource_version_of(old) == resource_version_of(obj):
            return
        if old is not None and uid_of(old) != uid_of(obj):
            await self._remove(key, None)
            old = None
        self._store.put(key, obj)
        if self._detector is not None:
            self._detector.put(key, obj)
        await self._tell(Added(obj, is_initial) if old is None else Updated(old, obj))

    async def _remove(self, key: str, last: T | None) -> None:
        """``last`` is the final state; None: the deletion was missed."""
        old = self._store.remove(key)
        if self._detector is not None:
            self._detector.remove(key)
        if old is not None:
            await self._tell(Deleted(old, final_state_unknown=True) if last is None else Deleted(last))

    async def _tell(self, change: Change[Any]) -> None:
        for listener in tuple(self._listeners):  # one that comes meanwhile has it from the cache
            await listener.offer(change)

    async def _resync(self, period_seconds: float) -> None:
        while True:
            await self._clock.sleep(period_seconds * (1 + self._dice.random() / 10))
            for key in self._store.snapshot_keys():
                async with self._telling:
                    obj = self._store.get(key)
                    if obj is not None:
                        await self._tell(Updated(obj, obj))
