"""Listeners of an informer: synchronous callbacks, and asynchronous handlers with a bounded queue each."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from steersman.client.changes import Added, cancels_out, coalesce
from steersman.client.objects import key_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from steersman.client.changes import Change

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

#: Changes queued for a handler before its overflow policy applies.
CAPACITY: Final = 1000


class Overflow(Enum):
    """Policy for a handler whose queue is full."""

    #: The informer waits: no change is lost or merged, and delivery to all other listeners waits too.
    WAIT = "wait"
    #: Changes of one object are merged (``changes.coalesce``); at most two per object are queued.
    COALESCE = "coalesce"


class Callback(Generic[T]):
    """Listener that runs in the informer's task, so it must be quick; its exceptions are logged."""

    def __init__(self, call: Callable[[Change[T]], None]) -> None:
        self._call = call

    def notify(self, change: Change[T]) -> None:
        """Call the callback."""
        try:
            self._call(change)
        except Exception:  # noqa: BLE001 — other listeners must still be notified; logged
            _log.exception("a callback failed on %s", key_of(change.latest))


class Handler(Generic[T]):
    """Listener that processes one change at a time, in order, in its own task; its exceptions are logged."""

    def __init__(
        self,
        call: Callable[[Change[T]], Awaitable[None]],
        *,
        initial: Iterable[T] = (),
        capacity: int = CAPACITY,
        overflow: Overflow = Overflow.WAIT,
    ) -> None:
        """Deliver ``initial`` objects first; they do not count towards ``capacity``, as the cache holds them anyway."""
        if capacity < 1:
            raise ValueError("a handler needs room for one change")
        self._call = call
        self._capacity = capacity
        self._overflow = overflow
        self._initial: deque[T] = deque(initial)
        #: Queued changes in order of arrival, at most ``capacity``.
        self._queue: deque[Change[T]] = deque()
        #: Overflow of COALESCE: queued changes per object (at most two), ordered by each object's first change.
        self._by_key: dict[str, list[Change[T]]] = {}
        self._wake = asyncio.Event()
        self._has_room = asyncio.Event()
        self._idle = asyncio.Event()

    @property
    def queued(self) -> int:
        """Number of changes that were not processed yet."""
        return len(self._initial) + len(self._queue) + sum(map(len, self._by_key.values()))

    async def offer(self, change: Change[T]) -> None:
        """Queue a change; may wait for room."""
        if self._overflow is Overflow.COALESCE:
            self._coalesce(change)
        else:
            while len(self._queue) >= self._capacity:
                self._has_room.clear()
                await self._has_room.wait()
            self._queue.append(change)
        self._idle.clear()
        self._wake.set()

    def _coalesce(self, change: Change[T]) -> None:
        if not self._by_key and len(self._queue) < self._capacity:
            self._queue.append(change)
            return
        key = key_of(change.latest)
        queued = self._by_key.setdefault(key, [])
        if queued and (merged := coalesce(queued[-1], change)) is not None:
            queued[-1] = merged
        elif queued and cancels_out(queued[-1], change):
            queued.pop()
            if not queued:
                del self._by_key[key]
        else:
            queued.append(change)

    async def run(self) -> None:
        """Process changes until cancelled."""
        while True:
            change = self._next()
            if change is None:
                self._idle.set()
                self._wake.clear()
                await self._wake.wait()
                continue
            try:
                await self._call(change)
            except Exception:  # noqa: BLE001 — one change must not stop the rest; logged
                _log.exception("a handler failed on %s", key_of(change.latest))

    async def drained(self) -> None:
        """Wait until every offered change was processed."""
        await self._idle.wait()

    def _next(self) -> Change[T] | None:
        if self._initial:
            return Added(self._initial.popleft(), is_initial=True)
        if self._queue:
            change = self._queue.popleft()
            self._has_room.set()
            return change
        if self._by_key:
            key = next(iter(self._by_key))
            changes = self._by_key[key]
            change = changes.pop(0)
            if not changes:
                del self._by_key[key]
            return change
        return None


Listener = Callback[Any] | Handler[Any]
