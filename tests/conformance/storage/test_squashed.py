"""Squashed prefixes: overwriting leaves no history (see the docstring of ``steersman.storage``)."""

from __future__ import annotations

import pytest

from steersman.storage.store import Compacted, Delete, Put

SQUASHES_NOTHING = "etcd keeps the history of all keys"


@pytest.fixture
async def store(open_store):
    return await open_store(squash_prefixes=["/beat/"])


async def beat(store, times=3, key="/beat/x"):
    for n in range(times):
        await store.txn([Put(key, b"%d" % n)])


async def test_squashed_keys_are_readable(store):
    await beat(store)
    assert (await store.get("/beat/x")).value == b"2"
    assert [(kv.value, kv.create_revision, kv.mod_revision) for kv in (await store.range("/")).kvs] == [(b"2", 1, 3)]


async def test_squashed_overwrites_reach_live_watchers(store, recorder):
    await store.watch("/beat/", recorder, after_revision=0, on_lost=recorder.on_lost)
    await beat(store)
    await store.txn([Delete("/beat/x")])
    assert recorder.summary == [
        ("/beat/x", b"0", 1),
        ("/beat/x", b"1", 2),
        ("/beat/x", b"2", 3),
        ("/beat/x", None, 4),
    ]


@pytest.mark.not_on("etcd", SQUASHES_NOTHING)
@pytest.mark.parametrize("prefix", ["/beat/", "/beat/x", "/", ""])
async def test_squashed_history_before_the_last_overwrite_is_compacted(store, prefix):
    await beat(store)
    await store.txn([Put("/b", b"")])
    with pytest.raises(Compacted) as caught:
        await store.range(prefix, revision=2)
    assert caught.value.compact_revision == 3
    assert len((await store.range(prefix, revision=3)).kvs) == 1


async def test_squashed_prefix_does_not_affect_history_of_others(store):
    await store.txn([Put("/a", b"1")])
    await beat(store)
    await store.txn([Put("/a", b"2")])
    assert (await store.get("/a", revision=1)).value == b"1"
    assert store.compact_revision == 0


async def test_squashed_creates_and_deletes_have_history(store):
    await store.txn([Put("/beat/x", b"1")])
    await store.txn([Delete("/beat/x")])
    assert (await store.get("/beat/x", revision=1)).value == b"1"
    assert await store.get("/beat/x", revision=2) is None


async def test_watch_of_squashed_history_sends_the_last_write_of_each_key(store, recorder):
    await beat(store, key="/beat/x")
    await beat(store, key="/beat/y")
    await store.txn([Put("/a", b"")])
    await store.watch("/", recorder, after_revision=0, on_lost=recorder.on_lost)
    last = {key: (value, revision) for key, value, revision in recorder.summary}
    assert last == {"/beat/x": (b"2", 3), "/beat/y": (b"2", 6), "/a": (b"", 7)}


async def test_watch_of_squashed_history_sends_deletions(store, recorder):
    await beat(store)
    await store.txn([Delete("/beat/x")])
    await store.watch("/beat/", recorder, after_revision=1, on_lost=recorder.on_lost)
    assert recorder.summary[-1] == ("/beat/x", None, 4)


@pytest.mark.not_on("etcd", SQUASHES_NOTHING)
async def test_squashed_prefix_must_end_in_a_slash(open_store):
    with pytest.raises(ValueError, match="'/'"):
        await open_store(squash_prefixes=["/beat"])
