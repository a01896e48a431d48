"""In-memory lock with compare-and-swap; a contender's access can be slow, disconnected or paused."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from steersman.client.errors import AlreadyExists, Conflict, NotFound, RequestFailed
from steersman.client.leaderelection.lock import ObservedRecord


def refused(kind, code):
    return kind({"code": code, "reason": kind.__name__, "message": kind.__name__})


class MemoryStore:
    """Shared state of the lock; each operation is atomic."""

    def __init__(self):
        self.seen = None
        self.version = 0
        self.changed = asyncio.Event()
        self.history = []

    def read(self):
        return self.seen

    def put(self, record, based_on):
        """Write the record; ``based_on`` is None to create."""
        if based_on is None:
            if self.seen is not None:
                raise refused(AlreadyExists, 409)
        elif self.seen is None:
            raise refused(NotFound, 404)
        elif self.seen.version != based_on.version:
            raise refused(Conflict, 409)
        return self._set(record)

    def edit(self, **fields):
        """Change the record as another client."""
        return self._set(replace(self.seen.record, **fields))

    def delete(self):
        self.seen = None
        self._notify()

    def _set(self, record):
        self.version += 1
        self.seen = ObservedRecord(record, str(self.version))
        self.history.append(record)
        self._notify()
        return self.seen

    def _notify(self):
        self.changed.set()
        self.changed = asyncio.Event()


class MemoryLock:
    """Access of one contender to the store."""

    name = "memory"

    def __init__(self, store, identity, *, watchable=True):
        self.store = store
        self.identity = identity
        self.watchable = watchable
        self.calls = []
        self.events = []
        #: Exceptions of the next calls.
        self.faults = []

    async def travel(self):
        """Simulate the network in each direction; tests override it to delay or raise."""

    async def _call(self, name, act):
        self.calls.append(name)
        await self.travel()
        if self.faults:
            raise self.faults.pop(0)
        result = act()
        await self.travel()
        return result

    async def read(self):
        return await self._call("read", self.store.read)

    async def create(self, record):
        return await self._call("create", lambda: self.store.put(record, None))

    async def replace(self, seen, record):
        return await self._call("replace", lambda: self.store.put(record, seen))

    def record_event(self, event):
        self.events.append(event)

    async def watch(self):
        if not self.watchable:
            raise RequestFailed("no watch")
        delivered = None
        while True:
            changed = self.store.changed
            now = self.store.seen
            if now is None and delivered is not None:
                self.store.version += 1
                yield ObservedRecord(None, str(self.store.version))
            elif now is not None and now is not delivered:
                await self.travel()
                yield now
            delivered = now
            await changed.wait()
