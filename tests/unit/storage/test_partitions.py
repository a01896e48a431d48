from __future__ import annotations

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.partitions import PartitionedStore, parts_of, store_of
from steersman.storage.store import Check, Delete, Put, Unavailable

EVENTS, PODS = "/registry/events/", "/registry/pods/"


@pytest.fixture
async def stores():
    clock = FakeClock()
    default, events = MemoryStore(clock=clock), MemoryStore(clock=clock)
    store = PartitionedStore(default, {EVENTS: events, "/registry/leases/": events})
    yield store, default, events
    await store.close()


async def test_keys_are_kept_in_the_store_of_their_prefix(stores):
    store, default, events = stores
    assert await store.txn([Put(f"{EVENTS}ns/a", b"event")]) == 1
    assert await store.txn([Put(f"{PODS}ns/a", b"pod")]) == 1  # each counts for itself
    assert (await store.get(f"{EVENTS}ns/a")).value == (await events.get(f"{EVENTS}ns/a")).value == b"event"
    assert [kv.value for kv in (await store.range(PODS)).kvs] == [b"pod"]
    assert [kv.value for kv in (await store.range(f"{EVENTS}ns/")).kvs] == [b"event"]
    assert (await default.range("/registry/")).count == 1


async def test_watch_follows_the_store_of_its_prefix(stores):
    store, _, _ = stores
    batches = []
    watch = await store.watch(EVENTS, batches.append, after_revision=0, on_lost=batches.append)
    await store.txn([Put(f"{PODS}ns/a", b"pod")])
    await store.txn([Put(f"{EVENTS}ns/a", b"event")])
    assert [event.value for batch in batches for event in batch.events] == [b"event"]
    watch.close()


async def test_transaction_across_stores_is_rejected(stores):
    store, default, events = stores
    for other in (Put(f"{EVENTS}ns/a", b"1"), Delete(f"{EVENTS}ns/a"), Check(f"{EVENTS}ns/a", 0)):
        with pytest.raises(ValueError, match="several stores"):
            await store.txn([Put(f"{PODS}ns/a", b"1"), other])
    with pytest.raises(ValueError, match="several stores"):
        await store.range("/registry/")
    with pytest.raises(ValueError, match="several stores"):
        await store.watch("/registry/", print, after_revision=0, on_lost=print)
    assert default.revision == events.revision == 0


async def test_store_and_parts_by_prefix(stores):
    store, default, events = stores
    assert store_of(store, EVENTS) is events
    assert store_of(store, PODS) is store_of(default, EVENTS) is default
    assert parts_of(store) == (default, events)
    assert parts_of(events) == (events,)


async def test_mapped_store_wraps_each_part_once(stores):
    store, default, events = stores
    wrapped = []

    def wrap(part):
        wrapped.append(part)
        return PartitionedStore(part, {})

    mapped = store.map(wrap)
    assert wrapped == [default, events]
    assert mapped.part(EVENTS) is mapped.part("/registry/leases/")


async def test_store_without_a_part_is_not_writable(stores):
    store, _, events = stores
    await store.check_writable()
    await events.close()
    with pytest.raises(Unavailable):
        await store.check_writable()
