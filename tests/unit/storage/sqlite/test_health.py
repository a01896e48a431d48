from __future__ import annotations

import os
import resource
import types

import pytest

from steersman.storage.memory import MemoryStore
from steersman.storage.sqlite import health
from steersman.storage.store import Put, Unavailable


@pytest.fixture
def writer():
    """Return the body whose process the tests stop and kill."""
    return "process"


async def test_store_that_writes_is_healthy(open_store, memory_store):
    store = await open_store()
    await store.check_writable()
    await store.txn([Put("/a", b"1")])
    await store.check_writable()
    await memory_store.check_writable()


@pytest.mark.interpreted
async def test_full_disk_is_named_with_its_directory_and_free_space(open_store, path, monkeypatch):
    store = await open_store()
    fake = types.SimpleNamespace(statvfs=lambda _folder: types.SimpleNamespace(f_bavail=3, f_frsize=4096))
    monkeypatch.setattr(health, "os", fake)
    with pytest.raises(Unavailable, match=f"the disk is full: 12 KiB are free in {path.parent}"):
        await store.check_writable()
    monkeypatch.setattr(health, "os", os)
    await store.check_writable()


async def test_check_probes_again_after_a_failed_write(open_store, path, clock):
    store = await open_store(disk_clock=clock)
    await store.check_writable()
    process = store._pipeline.writer._child.process
    soft, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, hard))
    with pytest.raises(Unavailable, match=rf"\(in {path.parent}, where \d+ KiB are free\)"):
        await store.txn([Put("/a", b"1" * (1 << 20))])
    with pytest.raises(Unavailable, match="not persisted"):
        await store.check_writable()
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (soft, hard))
    await store.check_writable()
    await store.txn([Put("/a", b"1")])


@pytest.fixture
async def memory_store(clock):
    store = MemoryStore(clock=clock)
    yield store
    await store.close()
