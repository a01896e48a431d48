from __future__ import annotations

from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Put


async def test_history_size_decreases_with_retired_entries():
    store = MemoryStore(clock=FakeClock())
    for n in range(10):
        await store.txn([Put(f"/a/{n % 2}", b"x" * 100)])
    await store.compact(10)
    assert store._history_bytes == 0


async def test_overwrites_of_squashed_keys_do_not_grow_memory():
    store = MemoryStore(clock=FakeClock(), squash_prefixes=["/beat/"])
    await store.txn([Put("/beat/x", b"x" * 100)])
    before = await store.size_bytes()
    for _ in range(100):
        await store.txn([Put("/beat/x", b"x" * 100)])
    assert await store.size_bytes() == before
