from __future__ import annotations

from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Compacted, Put


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


async def test_load_restores_keys_with_their_revisions_and_only_increases_the_revision():
    store = MemoryStore(clock=FakeClock())
    await store.txn([Put("/a/1", b"old")])
    dump = store.dump()
    await store.txn([Put("/a/1", b"new"), Put("/a/2", b"")])
    store.load(dump)
    response = await store.range("/a/")
    assert [(kv.key, kv.value, kv.mod_revision) for kv in response.kvs] == [("/a/1", b"old", 1)]
    assert await store.txn([Put("/a/3", b"")]) > 3


async def test_load_into_a_new_store_keeps_the_revision():
    store, other = MemoryStore(clock=FakeClock()), MemoryStore(clock=FakeClock())
    await store.txn([Put("/a/1", b"x")])
    other.load(store.dump())
    assert (other.revision, other.compact_revision) == (1, 1)


async def test_load_ends_watches_with_compacted():
    store = MemoryStore(clock=FakeClock())
    lost = []
    await store.watch("/a/", lambda batch: None, after_revision=0, on_lost=lost.append)
    store.load(store.dump())
    assert [type(error) for error in lost] == [Compacted]


async def test_load_restores_leases_with_their_remaining_time():
    clock = FakeClock()
    store = MemoryStore(clock=clock)
    lease = await store.grant_lease(10)
    await store.txn([Put("/a/1", b"x", lease_id=lease)])
    await clock.advance(4)
    other = MemoryStore(clock=clock)
    other.load(store.dump())
    await clock.advance(5)
    assert await other.get("/a/1") is not None
    await clock.advance(2)
    assert await other.get("/a/1") is None
