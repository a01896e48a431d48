"""Fixtures that run every test with every implementation of the store."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.sqlite import SqliteStore

#: Real seconds before a wait fails the test.
PATIENCE_SECONDS = 10


class Recorder:
    """Sink that records its events."""

    def __init__(self):
        self.batches = []
        self.lost = []
        self._changed = asyncio.Event()

    def __call__(self, batch):
        self.batches.append(batch)
        self._changed.set()

    def on_lost(self, error):
        self.lost.append(error)
        self._changed.set()

    @property
    def events(self):
        return [event for batch in self.batches for event in batch.events]

    @property
    def summary(self):
        """Return (key, value, revision) of every event, ordered by revision, then key."""
        rows = [(event.key, event.value, event.mod_revision) for event in self.events]
        return sorted(rows, key=lambda row: (row[2], row[0]))

    async def until(self, condition):
        """Wait for a condition on this recorder."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition(self):
                self._changed.clear()
                await self._changed.wait()


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def recorders():
    """Return a factory of recorders."""
    return Recorder


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
async def open_store(request, clock, tmp_path):
    """Return a function that opens stores with options; they are closed after the test."""
    numbers = iter(range(100))
    async with AsyncExitStack() as stack:

        async def open_memory(**options):
            return MemoryStore(clock=clock, **options)

        async def open_sqlite(**options):
            return await SqliteStore.open(tmp_path / f"{next(numbers)}.db", clock=clock, **options)

        opener = {"memory": open_memory, "sqlite": open_sqlite}[request.param]

        async def open_store(**options):
            store = await opener(**options)
            stack.push_async_callback(store.close)
            return store

        yield open_store


@pytest.fixture
async def store(open_store):
    return await open_store()
