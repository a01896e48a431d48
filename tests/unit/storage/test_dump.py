"""Encoding of the state of a store."""

import msgspec

from steersman.asynckit.clock import FakeClock
from steersman.storage.dump import StoreDump
from steersman.storage.memory import MemoryStore
from steersman.storage.store import Put


async def test_dump_can_be_encoded_and_decoded():
    store = MemoryStore(clock=FakeClock())
    lease = await store.grant_lease(10)
    await store.txn([Put("/a/1", b"\x00x", lease_id=lease)])
    dump = store.dump()
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(dump), type=StoreDump) == dump
