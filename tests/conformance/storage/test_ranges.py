from __future__ import annotations

import pytest

from steersman.storage.store import Delete, FutureRevision, Put


async def fill(store, *keys):
    for key in keys:
        await store.txn([Put(key, key.encode())])


def keys_of(answer):
    return [kv.key for kv in answer.kvs]


async def test_range_returns_keys_of_the_prefix_in_byte_order(store):
    await fill(store, "/b/2", "/b/10", "/b/ä", "/b/\U0001f600", "/b/\uffff", "/b", "/c/1", "/a/1")
    answer = await store.range("/b/")
    assert keys_of(answer) == ["/b/10", "/b/2", "/b/ä", "/b/\uffff", "/b/\U0001f600"]
    assert [kv.value for kv in answer.kvs] == [kv.key.encode() for kv in answer.kvs]
    assert (answer.revision, answer.more, answer.count) == (8, False, 5)


async def test_range_of_an_empty_prefix_returns_all_keys(store):
    await fill(store, "b", "/a", "\U0010ffff")
    assert keys_of(await store.range("")) == ["/a", "b", "\U0010ffff"]


async def test_range_without_matching_keys_is_empty(store):
    answer = await store.range("/none/")
    assert (answer.kvs, answer.revision, answer.more, answer.count) == ([], 0, False, 0)


async def test_range_with_limit_reports_more_and_counts_all(store):
    await fill(store, *(f"/a/{n}" for n in range(5)))
    first = await store.range("/a/", limit=2)
    assert (keys_of(first), first.more, first.count) == (["/a/0", "/a/1"], True, 5)
    second = await store.range("/a/", limit=2, start_after="/a/1")
    assert (keys_of(second), second.more, second.count) == (["/a/2", "/a/3"], True, 3)
    third = await store.range("/a/", limit=2, start_after="/a/3")
    assert (keys_of(third), third.more, third.count) == (["/a/4"], False, 1)


async def test_range_start_before_the_prefix_begins_at_the_prefix(store):
    await fill(store, "/a/1", "/b/1")
    assert keys_of(await store.range("/b/", start_after="/a/1")) == ["/b/1"]


async def test_range_start_after_the_prefix_is_empty(store):
    await fill(store, "/a/1", "/b/1")
    assert keys_of(await store.range("/a/", start_after="/b/0")) == []


async def test_range_of_keys_only_has_empty_values(store):
    await fill(store, "/a/1", "/a/2")
    answer = await store.range("/a/", keys_only=True)
    assert [(kv.key, kv.value, kv.mod_revision) for kv in answer.kvs] == [("/a/1", b"", 1), ("/a/2", b"", 2)]


async def test_get_at_a_revision_returns_the_value_of_that_revision(store):
    await store.txn([Put("/a", b"1")])
    await store.txn([Put("/a", b"2")])
    await store.txn([Delete("/a")])
    await store.txn([Put("/a", b"4")])
    values = [await store.get("/a", revision=revision) for revision in (1, 2, 3, 4)]
    assert [kv and (kv.value, kv.create_revision, kv.mod_revision) for kv in values] == [
        (b"1", 1, 1),
        (b"2", 1, 2),
        None,
        (b"4", 4, 4),
    ]


async def test_range_at_a_revision_returns_the_state_of_that_revision(store):
    await fill(store, "/a/1", "/a/2", "/a/3")
    await store.txn([Delete("/a/2")])
    await store.txn([Put("/a/1", b"new")])
    await store.txn([Put("/a/0", b"later")])
    answer = await store.range("/a/", revision=3)
    assert [(kv.key, kv.value, kv.mod_revision) for kv in answer.kvs] == [
        ("/a/1", b"/a/1", 1),
        ("/a/2", b"/a/2", 2),
        ("/a/3", b"/a/3", 3),
    ]
    assert (answer.revision, answer.count) == (6, 3)


async def test_range_pages_at_one_revision_are_consistent(store):
    await fill(store, *(f"/a/{n}" for n in range(6)))
    revision = store.revision
    pages = [await store.range("/a/", limit=2, revision=revision)]
    await store.txn([Delete("/a/2")])
    await store.txn([Put("/a/3", b"new"), Put("/a/35", b"new")])
    pages.append(await store.range("/a/", limit=2, revision=revision, start_after="/a/1"))
    pages.append(await store.range("/a/", limit=2, revision=revision, start_after="/a/3"))
    assert [keys_of(page) for page in pages] == [["/a/0", "/a/1"], ["/a/2", "/a/3"], ["/a/4", "/a/5"]]
    assert [(page.more, page.count) for page in pages] == [(True, 6), (True, 4), (False, 2)]


async def test_range_at_a_future_revision_is_rejected(store):
    await fill(store, "/a")
    with pytest.raises(FutureRevision) as caught:
        await store.get("/a", revision=2)
    assert (caught.value.revision, caught.value.current) == (2, 1)
    with pytest.raises(FutureRevision):
        await store.range("/", revision=2)


async def test_range_of_many_keys_is_complete(store):
    for first in range(0, 6000, 1000):
        await store.txn([Put(f"/a/{n:05}", b"%d" % n * (n % 50)) for n in range(first, first + 1000)])
    answer = await store.range("/a/")
    assert answer.count == len(answer.kvs) == 6000
    assert all(kv.value == b"%d" % n * (n % 50) for n, kv in enumerate(answer.kvs))
