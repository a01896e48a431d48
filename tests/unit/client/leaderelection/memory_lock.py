"""A lock in memory with compare-and-swap, and contenders whose way to it can be slow, cut or paused."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from steersman.client.errors import AlreadyExists, Conflict, NotFound, RequestFailed
from steersman.client.leaderelection.lock import Seen


def refused(kind, code):
    return kind({"code": code, "reason": kind.__name__, "message": kind.__name__})


class MemoryStore:
    """The one true state. All that happens to it happens at one moment."""

    def __init__(self):
        self.seen = None
        self.version = 0
        self.changed = asyncio.Event()
        self.history = []

    def read(self):
        return self.seen

    def put(self, record, based_on):
        """``based_on``: None to create."""
        if based_on is None:
            if self.seen is not None:
                raise refused(AlreadyExists, 409)
        elif self.seen is None:
            raise refused(NotFound, 404)
        elif self.seen.version != based_on.version:
            raise refused(Conflict, 409)
        return self._set(record)

    def edit(self, **fields):
        """Someone else changes it."""
        return self._set(replace(self.seen.record, **fields))

    def delete(self):
        self.seen = None
        self._tell()

    def _set(self, record):
        self.version += 1
        self.seen = Seen(record, str(self.version))
        self.history.append(record)
        self._tell()
        return self.seen

    def _tell(self):
        self.changed.set()
        self.changed = asyncio.Event()


class MemoryLock:
    """One contender's way to the store."""

    name = "memory"

    def __init__(self, store, identity, *, watchable=True):
        self.store = store
        self.identity = identity
        self.watchable = watchable
        self.calls = []
        self.events = []
        #: Raised by the next calls.
        self.faults = []

    async def travel(self):
        """There and back; a test may take time here, or raise."""

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

    def record_event(self, what):
        self.events.append(what)

    async def watch(self):
        if not self.watchable:
            raise RequestFailed("no watch")
        told = None
        while True:
            changed = self.store.changed
            now = self.store.seen
            if now is None and told is not None:
                self.store.version += 1
                yield Seen(None, str(self.store.version))
            elif now is not None and now is not told:
                await self.travel()
                yield now
            told = now
            await changed.wait()
