"""A data directory with one object in it."""

from __future__ import annotations

from steersman.asynckit.clock import FakeClock
from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Put


async def write(directory, *, name="one"):
    """Store a ConfigMap of this name as ``one``."""
    store = await SqliteStore.open(directory / "state.db", clock=FakeClock())
    value = b'{"kind":"ConfigMap","metadata":{"name":"%s"}}' % name.encode()
    await store.txn([Put("/registry/configmaps/ns/one", value)])
    await store.close()
