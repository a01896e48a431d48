"""Who hears of changes: callbacks at once, and slower handlers through a bounded queue each."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from steersman.client.changes import Added, merged, vanishes
from steersman.client.objects import key_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from steersman.client.changes import Change

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

#: Changes that wait for a slow handler before the overflow rule applies.
CAPACITY: Final = 1000


class Overflow(Enum):
    """What happens when a handler has more changes waiting than its bound."""

    #: The informer waits: nothing is lost or merged, and everybody else who shares it waits too.
    WAIT = "wait"
    #: Changes of one object become one (see ``changes.merged``); at most two for each object wait.
    COALESCE = "coalesce"


class Callback(Generic[T]):
    """Called in the informer's own task, so it must be quick; an exception is logged and goes no further."""

    def __init__(self, call: Callable[[Change[T]], None]) -> None:
        self._call = call

    async def offer(self, change: Change[T]) -> None:
        """Call it."""
        self.tell(change)

    def tell(self, change: Change[T]) -> None:
        """Call it."""
        try:
            self._call(change)
        except Exception:  # noqa: BLE001 — the others must still hear of it; logged
            _log.exception("a callback failed on %s", key_of(change.latest))


class Handler(Generic[T]):
    """Called one change at a time, in order, in a task of its own; an exception is logged and goes no further."""

    def __init__(
        self,
        call: Callable[[Change[T]], Awaitable[None]],
        *,
        initial: Iterable[T] = (),
        capacity: int = CAPACITY,
        overflow: Overflow = Overflow.WAIT,
    ) -> None:
        """``initial`` is heard first, and is not counted by ``capacity``: the cache holds these objects anyway."""
        if capacity < 1:
            raise ValueError("a handler needs room for one change")
        self._call = call
        self._capacity = capacity
        self._overflow = overflow
        self._initial: deque[T] = deque(initial)
        #: Changes that wait, by arrival. With COALESCE and more than ``capacity`` of them, at most two for each object.
        self._waiting: deque[Change[T]] = deque()
        #: Not empty only while coalescing: what waits for each object, by the arrival of its first.
        self._by_key: dict[str, list[Change[T]]] = {}
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._idle = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Changes that have not been handed over."""
        return len(self._initial) + len(self._waiting) + sum(map(len, self._by_key.values()))

    async def offer(self, change: Change[T]) -> None:
        """Take a change in; may wait for room."""
        if self._overflow is Overflow.COALESCE:
            self._take_in(change)
        else:
            while len(self._waiting) >= self._capacity:
                self._room.clear()
                await self._room.wait()
            self._waiting.append(change)
        self._idle.clear()
        self._wake.set()

    def _take_in(self, change: Change[T]) -> None:
        if not self._by_key and len(self._waiting) < self._capacity:
            self._waiting.append(change)
            return
        key = key_of(change.latest)
        waiting = self._by_key.setdefault(key, [])
        if waiting and (one := merged(waiting[-1], change)) is not None:
            waiting[-1] = one
        elif waiting and vanishes(waiting[-1], change):
            waiting.pop()
            if not waiting:
                del self._by_key[key]
        else:
            waiting.append(change)

    async def run(self) -> None:
        """Until cancelled."""
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
        """Wait until everything that was offered has been handled."""
        await self._idle.wait()

    def _next(self) -> Change[T] | None:
        if self._initial:
            return Added(self._initial.popleft(), is_initial=True)
        if self._waiting:
            change = self._waiting.popleft()
            self._room.set()
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
