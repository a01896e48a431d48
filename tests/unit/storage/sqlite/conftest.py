from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.storage.sqlite import SqliteStore


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
async def open_store(path, clock):
    """Opens the store, again and again if need be; closes what is open after the test."""
    async with AsyncExitStack() as stack:

        async def open_store(**options):
            store = await SqliteStore.open(path, clock=clock, **options)
            stack.push_async_callback(store.close)
            return store

        yield open_store
