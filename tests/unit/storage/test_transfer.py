"""Transfer of all objects between stores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.asynckit.clock import FakeClock
from steersman.storage.memory import MemoryStore
from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Put, Unavailable
from steersman.storage.transfer import RECORD_KEY, TransferError, digest_of, transfer


@pytest.fixture
async def stores():
    """Two stores in memory: source and destination."""
    clock = FakeClock()
    both = MemoryStore(clock=clock), MemoryStore(clock=clock)
    yield both
    for store in both:
        await store.close()


def pod(i):
    return f"/registry/pods/default/{i:05d}"


async def fill(store, count=1200, size=10):
    for start in range(0, count, 100):
        await store.txn([Put(pod(i), f"{i}".encode() * size) for i in range(start, min(count, start + 100))])


async def values(store):
    return {kv.key: kv.value for kv in (await store.range("/")).kvs}


async def test_all_objects_are_copied_in_pages(stores):
    source, destination = stores
    await fill(source)
    seen = []
    result = await transfer(source, destination, progress=seen.append)
    assert await values(destination) == await values(source)
    assert (result.keys, result.resumed) == (1200, 0)
    assert seen == [100 * i for i in range(1, 13)]
    assert result.digest == await digest_of(destination)


async def test_transactions_are_bounded_in_bytes(stores):
    source, destination = stores
    await source.txn([Put(pod(i), b"x" * 400_000) for i in range(5)])
    sizes = []
    await transfer(source, Measuring(destination, sizes))
    assert max(sizes) <= 1024 * 1024


class Measuring:
    """A store that notes the bytes of each transaction."""

    def __init__(self, store, sizes):
        self._store = store
        self._sizes = sizes

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def txn(self, ops):
        self._sizes.append(sum(len(op.value) for op in ops if isinstance(op, Put)))
        return await self._store.txn(ops)


class Failing:
    """A store that fails after some transactions."""

    def __init__(self, store, after):
        self._store = store
        self._remaining = after

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def txn(self, ops):
        if self._remaining == 0:
            raise Unavailable("gone")
        self._remaining -= 1
        return await self._store.txn(ops)


@pytest.mark.parametrize("after", [0, 1, 2, 7, 12])
async def test_interrupted_transfer_continues(stores, after):
    source, destination = stores
    await fill(source)
    with pytest.raises(Unavailable):
        await transfer(source, Failing(destination, after))
    result = await transfer(source, destination)
    assert await values(destination) == await values(source)
    assert result.resumed == max(0, 100 * (after - 1))
    assert await destination.get(RECORD_KEY) is None


async def test_destination_with_objects_is_refused(stores):
    source, destination = stores
    await fill(source, 3)
    await destination.txn([Put("/registry/pods/default/other", b"x")])
    with pytest.raises(TransferError, match="holds 1 objects already, the first is /registry/pods/default/other"):
        await transfer(source, destination)


async def test_transfer_of_other_data_is_not_continued(stores):
    source, destination = stores
    await fill(source)
    with pytest.raises(Unavailable):
        await transfer(source, Failing(destination, 3))
    await source.txn([Put(pod(0), b"changed")])
    with pytest.raises(TransferError, match="part of a transfer of other data"):
        await transfer(source, destination)


async def test_difference_in_the_result_is_an_error(stores):
    source, destination = stores
    await fill(source)
    with pytest.raises(Unavailable):
        await transfer(source, Failing(destination, 3))
    await destination.txn([Put(pod(0), b"damaged")])
    with pytest.raises(TransferError, match="the destination differs from the source"):
        await transfer(source, destination)


async def test_leased_keys_get_a_new_lease_and_addresses_of_servers_are_left_out(stores):
    source, destination = stores
    lease = await source.grant_lease(60)
    await source.txn(
        [
            Put("/registry/events/default/a", b"e", lease_id=lease),
            Put("/registry/masterleases/192.0.2.1", b"m", lease_id=lease),
            Put("compact_rev_key", b"1"),
        ]
    )
    await transfer(source, destination, lease_ttl_seconds=120)
    kv = await destination.get("/registry/events/default/a")
    await destination.keep_alive(kv.lease_id)
    assert kv.lease_id != lease
    assert list(await values(destination)) == ["/registry/events/default/a"]


async def test_values_may_be_transformed(stores):
    source, destination = stores
    await fill(source, 3)
    await transfer(source, destination, transform=lambda _, value: value[::-1] + b"!")
    assert (await destination.get(pod(1))).value == b"1111111111!"


@given(objects=st.dictionaries(st.text("ab/", min_size=1, max_size=6), st.binary(max_size=20), max_size=30))
async def test_round_trip_through_sqlite_restores_all_objects(tmp_path_factory, objects):
    clock = FakeClock()
    first, last = MemoryStore(clock=clock), MemoryStore(clock=clock)
    middle = await SqliteStore.open(tmp_path_factory.mktemp("store") / "state.db", clock=clock)
    if objects:
        await first.txn([Put(f"/registry/x/{key}", value) for key, value in objects.items()])
    outward = await transfer(first, middle)
    back = await transfer(middle, last)
    assert await values(last) == await values(first)
    assert outward.digest == back.digest
    for store in (first, middle, last):
        await store.close()
