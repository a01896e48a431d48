from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.storage.sqlite import SqliteStore
from steersman.storage.sqlite.ack_record import WalIndex
from steersman.storage.sqlite.database import begin_session, connect_writer


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def new_file(path):
    """Makes the file of a store that is open: what the writer process finds."""
    connection = connect_writer(path)
    connection.execute("SELECT count(*) FROM latest").fetchone()
    wal_index = WalIndex(str(path))
    begin_session(connection, path, wal_index, revision=0, fingerprint=0)
    connection.close()
    wal_index.close()


@pytest.fixture(params=["process", "thread"])
def writer(request):
    """Return the body that writes the stores of ``open_store``."""
    return request.param


@pytest.fixture
async def open_store(path, clock, writer):
    """Return a function that opens the store, also repeatedly; open stores are closed after the test."""
    async with AsyncExitStack() as stack:

        async def open_store(**options):
            store = await SqliteStore.open(path, clock=clock, **{"writer": writer} | options)
            stack.push_async_callback(store.close)
            return store

        yield open_store
