from __future__ import annotations

import asyncio

import pytest

from steersman.storage.store import Check, Conflict, Delete, KeyValue, LeaseNotFound, Put


async def test_new_store_is_at_revision_zero(store):
    assert store.revision == 0
    assert await store.current_revision() == 0


async def test_created_key_is_readable(store):
    revision = await store.txn([Put("/a", b"1", expected=0)])
    assert await store.get("/a") == KeyValue("/a", b"1", revision, revision)
    assert store.revision == revision == 1


async def test_update_keeps_the_create_revision(store):
    created = await store.txn([Put("/a", b"1", expected=0)])
    updated = await store.txn([Put("/a", b"2", expected=created)])
    assert await store.get("/a") == KeyValue("/a", b"2", created, updated)


async def test_recreated_key_has_a_new_create_revision(store):
    await store.txn([Put("/a", b"1")])
    await store.txn([Delete("/a")])
    again = await store.txn([Put("/a", b"2", expected=0)])
    assert await store.get("/a") == KeyValue("/a", b"2", again, again)


async def test_txn_writes_take_consecutive_revisions_or_share_one(store, numbering):
    revision = await store.txn([Put("/a", b"1"), Put("/b", b"2")])
    kvs = (await store.range("/")).kvs
    assert [(kv.key, kv.mod_revision) for kv in kvs] == list(zip(("/a", "/b"), numbering(2), strict=True))
    assert revision == kvs[-1].mod_revision


async def test_put_accepts_an_empty_value(store):
    await store.txn([Put("/a", b"")])
    assert (await store.get("/a")).value == b""


async def test_put_keeps_any_bytes_and_characters(store):
    value = bytes(range(256))
    await store.txn([Put("/ä\0\n\U0001f600", value)])
    assert [(kv.key, kv.value) for kv in (await store.range("/")).kvs] == [("/ä\0\n\U0001f600", value)]


async def test_unconditional_put_overwrites(store):
    await store.txn([Put("/a", b"1")])
    await store.txn([Put("/a", b"2")])
    assert (await store.get("/a")).value == b"2"


async def test_create_of_an_existing_key_conflicts_with_its_value(store):
    revision = await store.txn([Put("/a", b"1")])
    with pytest.raises(Conflict) as caught:
        await store.txn([Put("/a", b"2", expected=0)])
    assert caught.value.key == "/a"
    assert caught.value.current == KeyValue("/a", b"1", revision, revision)


async def test_update_of_a_missing_key_conflicts_with_none(store):
    with pytest.raises(Conflict) as caught:
        await store.txn([Put("/a", b"2", expected=7)])
    assert caught.value.current is None


async def test_update_at_an_old_revision_conflicts(store):
    first = await store.txn([Put("/a", b"1")])
    await store.txn([Put("/a", b"2")])
    with pytest.raises(Conflict) as caught:
        await store.txn([Put("/a", b"3", expected=first)])
    assert caught.value.current.value == b"2"


async def test_delete_at_an_old_revision_conflicts(store):
    first = await store.txn([Put("/a", b"1")])
    await store.txn([Put("/a", b"2")])
    with pytest.raises(Conflict):
        await store.txn([Delete("/a", expected=first)])
    assert (await store.get("/a")).value == b"2"


async def test_failed_txn_writes_nothing_and_takes_no_revision(store):
    before = await store.txn([Put("/a", b"1")])
    with pytest.raises(Conflict) as caught:
        await store.txn([Put("/b", b"1"), Put("/a", b"2", expected=99), Delete("/c", expected=5)])
    assert caught.value.key == "/a"
    assert await store.get("/b") is None
    assert await store.current_revision() == before


async def test_txn_check_guards_without_writing(store):
    first = await store.txn([Put("/a", b"1")])
    revision = await store.txn([Check("/a", expected=first), Check("/none", expected=0), Put("/b", b"1")])
    assert (await store.get("/a")).mod_revision == first
    assert revision == first + 1
    with pytest.raises(Conflict):
        await store.txn([Check("/a", expected=0), Put("/c", b"1")])
    assert await store.get("/c") is None


@pytest.mark.parametrize("ops", [[], [Check("/none", expected=0)], [Delete("/none")], [Delete("/none", expected=0)]])
async def test_txn_without_changes_returns_the_present_revision(store, ops):
    before = await store.txn([Put("/a", b"1")])
    assert await store.txn(ops) == before
    assert await store.current_revision() == before


async def test_txn_rejects_duplicate_keys(store):
    with pytest.raises(ValueError, match="twice"):
        await store.txn([Put("/a", b"1"), Delete("/a")])
    assert store.revision == 0


async def test_txn_rejects_keys_that_are_not_unicode(store):
    with pytest.raises(ValueError, match="surrogates"):
        await store.txn([Put("/\ud800", b"1")])
    assert await store.txn([Put("/a", b"1")]) == 1


async def test_put_with_an_unknown_lease_is_rejected(store):
    with pytest.raises(LeaseNotFound):
        await store.txn([Put("/a", b"1", lease_id=5)])
    assert await store.get("/a") is None


async def test_concurrent_writes_take_distinct_consecutive_revisions(store):
    async def writer(name):
        return [await store.txn([Put(f"/{name}/{n}", b"x")]) for n in range(20)]

    results = await asyncio.gather(*map(writer, range(10)))
    assert sorted(revision for result in results for revision in result) == list(range(1, 201))
    assert all(result == sorted(result) for result in results)


async def test_one_of_concurrent_updates_at_one_revision_succeeds(store):
    first = await store.txn([Put("/a", b"0")])
    results = await asyncio.gather(
        *(store.txn([Put("/a", str(n).encode(), expected=first)]) for n in range(10)), return_exceptions=True
    )
    won = [n for n, result in enumerate(results) if result == first + 1]
    lost = [result for result in results if isinstance(result, Conflict)]
    assert (len(won), len(lost)) == (1, 9)
    assert (await store.get("/a")).value == str(won[0]).encode()
    assert {conflict.current.mod_revision for conflict in lost} == {first + 1}


@pytest.mark.not_on("etcd", "etcd decides requests of one connection in any order")
async def test_txn_observes_earlier_writes_in_flight(store):
    put, delete, again = await asyncio.gather(
        store.txn([Put("/a", b"1", expected=0)]),
        store.txn([Delete("/a")]),
        store.txn([Put("/a", b"2", expected=0)]),
    )
    assert (put, delete, again) == (1, 2, 3)
    assert await store.get("/a") == KeyValue("/a", b"2", 3, 3)


async def test_cancelled_txn_is_atomic(store):
    task = asyncio.ensure_future(store.txn([Put("/a", b"1"), Put("/b", b"1")]))
    await asyncio.wait([task], timeout=0)
    task.cancel()
    await asyncio.wait([task])
    await store.txn([Put("/c", b"1")])
    assert len((await store.range("/")).kvs) in (1, 3)


async def test_large_txn_is_atomic(store, numbering):
    ops = [Put(f"/many/{n:05}", b"v%d" % n) for n in range(2500)]
    assert await store.txn(ops) == numbering(2500)[-1]
    answer = await store.range("/many/")
    assert [kv.value for kv in answer.kvs] == [op.value for op in ops]
