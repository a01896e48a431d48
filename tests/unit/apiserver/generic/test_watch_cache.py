"""The cache: always what the store holds, now and before, and every watcher sees every change once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.apiserver.reading import World

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.generic.change_ring import ChangeRing
from steersman.storage.store import Compacted, Delete, Put, Unavailable

NAMESPACES = ("ns", "ns2")
NAMES = ("a", "b", "c")
APPS = ("x", "y", "")
SELECTORS = ("", "app=x", "app!=x", "app", "app in (x,y)")

writes = st.tuples(st.sampled_from(NAMESPACES), st.sampled_from(NAMES), st.sampled_from((*APPS, None)))
watchers = st.tuples(st.sampled_from(("", *NAMESPACES)), st.sampled_from(SELECTORS), st.integers(0, 40), st.booleans())

State = dict[tuple[str, str], str]


def matches(selector: str, app: str) -> bool:
    """Objects without a value have no label at all."""
    has = app != ""
    return {
        "": True,
        "app=x": app == "x",
        "app!=x": app != "x",
        "app": has,
        "app in (x,y)": app in ("x", "y"),
    }[selector]


def shown(state: State, namespace: str, selector: str) -> State:
    return {key: app for key, app in state.items() if namespace in ("", key[0]) and matches(selector, app)}


def state_of(items: list[dict[str, Any]]) -> State:
    return {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item["metadata"].get("labels", {}).get("app", "")
        for item in items
    }


async def play(world: World, steps: list[tuple[str, str, str | None]], model: list[State]) -> None:
    """Write, and keep what the model says of every revision."""
    for namespace, name, app in steps:
        state = dict(model[-1])
        if app is None and (namespace, name) in state:
            del state[namespace, name]
            await world.delete(name, namespace)
        elif app is not None:
            state[namespace, name] = app
            await world.put(name, namespace, labels={"app": app} if app else None)
        else:
            continue
        model.append(state)


def follow(state: State, events: list[dict[str, Any]]) -> State:
    """Apply events as a client does; each must fit the state."""
    state = dict(state)
    for event in events:
        ((key, app),) = state_of([event["object"]]).items()
        assert (key in state) is (event["type"] != "ADDED")
        if event["type"] == "DELETED":
            assert state.pop(key) == app
        else:
            state[key] = app
    return state


@settings(max_examples=60, deadline=None)
@given(
    before=st.lists(writes, max_size=20), after=st.lists(writes, max_size=20), watching=st.lists(watchers, max_size=4)
)
async def test_every_watcher_converges_to_the_model(before, after, watching):
    world = World()
    await world.cache.ready()
    model: list[State] = [{}]
    await play(world, before, model)
    seen = []
    for namespace, selector, start, from_state in watching:
        revision = min(start, len(model) - 1)
        query = {"labelSelector": selector} if selector else {}
        if not from_state and revision:
            query["resourceVersion"] = str(revision)
        watch = await world.watch(namespace, **query)
        existing = shown(model[revision], namespace, selector) if "resourceVersion" in query else {}
        seen.append((watch, existing, namespace, selector))
    await play(world, after, model)
    for watch, existing, namespace, selector in seen:
        events = await watch.seen()
        assert follow(existing, events) == shown(model[-1], namespace, selector)
        await watch.close()


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(writes, max_size=30),
    revision=st.integers(1, 30),
    limit=st.integers(1, 4),
    ring=st.sampled_from([2, 10, 1000]),
    namespace=st.sampled_from(("", *NAMESPACES)),
    selector=st.sampled_from(SELECTORS),
)
async def test_pages_at_an_old_revision_equal_the_past_of_the_model(steps, revision, limit, ring, namespace, selector):
    world = World(ring=ChangeRing(0, changes_max=ring))
    await world.cache.ready()
    model: list[State] = [{}]
    await play(world, [*steps, ("ns", "z", "x")], model)
    revision = min(revision, len(model) - 1)
    query = {"labelSelector": selector, "limit": str(limit)}
    page = await world.items(namespace, resourceVersion=str(revision), resourceVersionMatch="Exact", **query)
    items = page["items"]
    while "continue" in page["metadata"]:
        assert page["metadata"]["resourceVersion"] == str(revision)
        if not selector:
            assert page["metadata"]["remainingItemCount"] == len(shown(model[revision], namespace, "")) - len(items)
        page = await world.items(namespace, **query, **{"continue": page["metadata"]["continue"]})
        items += page["items"]
    assert state_of(items) == shown(model[revision], namespace, selector)
    assert [(i["metadata"]["namespace"], i["metadata"]["name"]) for i in items] == sorted(state_of(items))


@pytest.mark.interpreted
async def test_page_older_than_the_ring_reads_no_more_of_the_store_than_its_objects():
    world = World(ring=ChangeRing(0, changes_max=2))
    for number in range(10):
        await world.put(f"c{number}")
    await world.cache.ready()
    revision = world.store.revision
    for number in range(5):
        await world.put(f"d{number}")
    limits, stored_range = [], world.store.range

    async def counted_range(*args, limit, **options):
        limits.append(limit)
        return await stored_range(*args, limit=limit, **options)

    world.store.range = counted_range
    page = await world.items(resourceVersion=str(revision), resourceVersionMatch="Exact", limit="3")
    assert page["metadata"]["remainingItemCount"] == 7
    page = await world.items(limit="4", **{"continue": page["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in page["items"]] == ["c3", "c4", "c5", "c6"]
    assert page["metadata"]["remainingItemCount"] == 3
    assert limits == [3, 4]


async def test_unreadable_value_of_the_past_fails_only_lists_of_the_past():
    world = World(ring=ChangeRing(0, changes_max=2))
    await world.put("a")
    revision = await world.store.txn([Put(f"{world.prefix}ns/b", b"k8s\0")])
    await world.put("b")
    await world.cache.ready()
    with pytest.raises(StatusError, match="failed to read one or more configmaps from the storage") as failed:
        await world.items(resourceVersion=str(revision), resourceVersionMatch="Exact")
    assert [cause["field"] for cause in failed.value.status["details"]["causes"]] == [f"{world.prefix}ns/b"]
    assert await world.names() == ["a", "b"]


async def test_acknowledged_write_is_in_the_cache():
    world = World()
    await world.cache.ready()
    await world.put("a")
    assert world.cache.get(f"{world.prefix}ns/a") is not None
    await world.delete("a")
    assert world.cache.get(f"{world.prefix}ns/a") is None


async def test_snapshot_is_immutable():
    world = World()
    await world.cache.ready()
    await world.put("a")
    snapshot = world.cache.snapshot()
    await world.put("b")
    await world.delete("a")
    assert [entry.name for entry in snapshot] == ["a"]


async def test_initial_objects_are_read_in_pages():
    world = World()
    for number in range(1201):
        await world.put(f"c{number:04}")
    await world.cache.ready()
    assert len(world.cache) == 1201


async def test_list_and_get_of_corrupt_objects_fail_with_their_keys(caplog):
    world = World()
    await world.put("a")
    await world.put("other", "elsewhere")
    await world.store.txn([Put(f"{world.prefix}ns/bad", b"k8s\0")])
    with pytest.raises(StatusError, match="failed to read one or more configmaps from the storage") as failed:
        await world.names()
    assert (failed.value.code, failed.value.reason) == (500, "StorageReadError")
    assert [cause["field"] for cause in failed.value.status["details"]["causes"]] == [f"{world.prefix}ns/bad"]
    with pytest.raises(
        StatusError, match=f"StorageError: corrupt object, Code: 7, Key: {world.prefix}ns/bad"
    ) as failed:
        await world.get("bad")
    assert (failed.value.code, failed.value.reason) == (500, "InternalError")
    assert (await world.get("a")).code == 200
    assert await world.names("elsewhere") == ["other"]
    assert f"the stored data of {world.prefix}ns/bad cannot be read" in caplog.text
    assert world.cache.decode_errors == 1


async def test_watchers_relist_after_a_corrupt_object_is_deleted():
    world = World()
    await world.put("a")
    revision = await world.store.txn([Put(f"{world.prefix}ns/bad", b"k8s\0")])
    await world.cache.ready()
    watch = await world.watch(resourceVersion=str(revision))
    await watch.seen()
    assert world.cache.corrupt_revision(f"{world.prefix}ns/bad") == revision
    await world.delete("bad")
    await watch.seen()
    assert watch.over
    assert await world.names() == ["a"]
    again = await world.watch(resourceVersion=str(revision))
    assert [event["object"]["code"] for event in await again.seen()] == [410]
    await watch.close()
    await again.close()


async def test_corrupt_object_that_is_overwritten_is_served_again():
    world = World()
    await world.store.txn([Put(f"{world.prefix}ns/a", b"nonsense")])
    await world.cache.ready()
    await world.put("a")
    assert await world.names() == ["a"]


async def test_writes_of_a_transaction_become_visible_together():
    world = World()
    await world.cache.ready()
    watch = await world.watch()
    value = world.layout.encode({"metadata": {"name": "x", "namespace": "ns"}})
    await world.store.txn([Put(f"{world.prefix}ns/{name}", value) for name in ("a", "b")])
    assert [version for _, _, version in await watch.event_keys()] == ["1", "2"]
    await world.store.txn([Delete(f"{world.prefix}ns/a")])
    assert len(await watch.event_keys()) == 1
    await watch.close()


async def test_lost_store_watch_ends_watches_and_refills_the_cache():
    world = World()
    await world.put("a")
    watch = await world.watch()
    await watch.seen()
    world.cache._subscription.lose(Compacted(1, 2))
    await watch.seen()
    assert watch.over
    await world.put("b")
    assert await world.names() == ["a", "b"]
    again = await world.watch()
    assert [name for _, name, _ in await again.event_keys()] == ["a", "b"]
    await again.close()


async def test_consistent_read_waits_for_the_refill_when_the_watch_is_lost_meanwhile():
    world = World(remote=True)
    await world.put("a")
    await world.cache.ready()
    world.view.gate, refill = asyncio.Event(), asyncio.Event()

    async def gated_range(*args, **options):
        await refill.wait()
        return await world.store.range(*args, **options)

    world.view.range = gated_range
    reading = asyncio.create_task(world.names())
    await world.clock.advance(0)
    await world.put("b")
    world.view.drop()
    world.cache._subscription.lose(Compacted(1, 2))
    world.view.gate.set()
    await world.clock.advance(0)
    refill.set()
    assert await reading == ["a", "b"]


async def test_versions_before_a_refill_are_too_old():
    world = World()
    await world.cache.ready()
    await world.put("a")
    await world.put("b")
    world.cache._subscription.lose(Compacted(1, 2))
    await world.clock.advance(1)
    watch = await world.watch(resourceVersion="1")
    (event,) = await watch.seen()
    assert event["object"]["code"] == 410


async def test_readers_get_an_error_while_the_store_is_unavailable(monkeypatch):
    world = World()
    await world.put("a")

    class Broken:
        async def range(self, *_: object, **__: object) -> None:
            raise Unavailable("no answer")

    monkeypatch.setattr(world.cache, "_store", Broken())
    reading = asyncio.get_running_loop().create_task(world.names())
    await world.clock.advance(11)
    with pytest.raises(StatusError) as refused:
        await reading
    assert refused.value.code == 429
    assert refused.value.retry_after_seconds == 1
    monkeypatch.setattr(world.cache, "_store", world.store)
    await world.clock.advance(2)
    assert await world.names() == ["a"]


async def test_read_without_version_waits_for_the_revision_of_a_shared_store():
    world = World(remote=True)
    await world.cache.ready()
    await world.put("a")
    world.view.gate, refill = asyncio.Event(), asyncio.Event()

    async def gated_range(*args, **options):
        await refill.wait()
        return await world.store.range(*args, **options)

    world.view.range = gated_range
    reading = asyncio.get_running_loop().create_task(world.names())
    await world.clock.advance(1)
    assert not reading.done()
    world.view.gate.set()
    await world.clock.advance(0)
    assert await reading == ["a"]


async def test_only_used_caches_follow_the_store():
    world = World()
    await world.put("a")
    assert not world.cache.is_ready
    await world.cache.ready()
    assert world.cache.is_ready
    assert json.loads(world.cache.snapshot()[0].raw)["metadata"]["name"] == "a"
