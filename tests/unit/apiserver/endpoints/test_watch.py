"""WATCH: what is sent, from where on, and how it ends."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.apiserver.reading import METADATA, PODS, TABLE, World, refusal

from steersman.apiserver.generic.change_ring import ChangeRing
from steersman.asynckit.slices import next_turn
from steersman.storage.store import Compacted, Unavailable

END = {"k8s.io/initial-events-end": "true"}
STATE = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


async def test_watch_without_resource_version_sends_the_state_in_key_order():
    world = World()
    await world.put("b")
    await world.put("a")
    watch = await world.watch()
    assert await watch.event_keys() == [("ADDED", "a", "2"), ("ADDED", "b", "1")]
    await world.put("c")
    assert await watch.event_keys() == [("ADDED", "c", "3")]
    await watch.close()


async def test_watch_from_a_version_sends_later_changes_only():
    world = World()
    await world.cache.ready()
    await world.put("a")
    version = await world.put("b")
    await world.put("a", data={"k": "v"})
    await world.delete("b")
    watch = await world.watch(resourceVersion=str(version))
    assert await watch.event_keys() == [("MODIFIED", "a", "3"), ("DELETED", "b", "4")]
    await watch.close()


async def test_watch_from_version_zero_sends_the_current_state():
    world = World()
    await world.put("a")
    watch = await world.watch(resourceVersion="0")
    assert await watch.event_keys() == [("ADDED", "a", "1")]
    await watch.close()


async def test_watch_events_have_type_meta():
    world = World()
    await world.put("a", data={"k": "v"})
    watch = await world.watch()
    (event,) = await watch.seen()
    metadata = {"resourceVersion": "1", "name": "a", "namespace": "ns", "uid": "uid-a"}
    assert event["object"] == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"k": "v"}}
    await watch.close()


async def test_deleted_event_has_the_last_state_and_the_version_of_the_deletion():
    world = World()
    version = await world.put("a", data={"k": "v"})
    watch = await world.watch(resourceVersion=str(version))
    await world.delete("a")
    (event,) = await watch.seen()
    assert event["type"] == "DELETED"
    assert event["object"]["data"] == {"k": "v"}
    assert event["object"]["metadata"]["resourceVersion"] == "2"
    await watch.close()


async def test_selector_turns_entering_into_added_and_leaving_into_deleted():
    world = World()
    version = await world.put("a", labels={"app": "y"})
    watch = await world.watch(resourceVersion=str(version), labelSelector="app=x")
    await world.put("a", labels={"app": "x"}, data={"k": "1"})
    await world.put("a", labels={"app": "x"}, data={"k": "2"})
    await world.put("a", labels={"app": "z"}, data={"k": "3"})
    await world.put("a", labels={"app": "z"}, data={"k": "4"})
    await world.delete("a")
    events = await watch.seen()
    assert [(e["type"], e["object"]["data"]["k"], e["object"]["metadata"]["resourceVersion"]) for e in events] == [
        ("ADDED", "1", "2"),
        ("MODIFIED", "2", "3"),
        ("DELETED", "2", "4"),
    ]
    await watch.close()


async def test_field_selector_turns_entering_into_added_and_leaving_into_deleted():
    world = World(PODS)
    version = await world.put("p", spec={})
    unscheduled = await world.watch(resourceVersion=str(version), fieldSelector="spec.nodeName=")
    on_node = await world.watch(resourceVersion=str(version), fieldSelector="spec.nodeName=n")
    await world.put("p", spec={"nodeName": "n"})
    assert await unscheduled.event_keys() == [("DELETED", "p", "2")]
    assert await on_node.event_keys() == [("ADDED", "p", "2")]
    await unscheduled.close()
    await on_node.close()


async def test_watch_of_a_namespace_excludes_other_namespaces():
    world = World()
    watch = await world.watch("ns")
    everywhere = await world.watch("")
    await world.put("a", "ns")
    await world.put("b", "ns2")
    await world.put("c", "n")
    assert await watch.event_keys() == [("ADDED", "a", "1")]
    assert [name for _, name, _ in await everywhere.event_keys()] == ["a", "b", "c"]
    await watch.close()
    await everywhere.close()


async def test_watch_of_one_object_by_field_or_legacy_path():
    world = World()
    by_field = await world.watch(fieldSelector="metadata.name=a", name="a")
    by_path = await world.watch(name="a")
    await world.put("a")
    await world.put("ab")
    await world.delete("a")
    expected = [("ADDED", "a", "1"), ("DELETED", "a", "3")]
    assert await by_field.event_keys() == expected
    assert await by_path.event_keys() == expected
    await by_field.close()
    await by_path.close()


async def test_initial_events_end_with_the_annotated_bookmark():
    world = World()
    await world.put("a", labels={"app": "x"})
    await world.put("b", labels={"app": "y"})
    watch = await world.watch(labelSelector="app=x", allowWatchBookmarks="true", **STATE)
    added, bookmark = await watch.seen()
    assert added["object"]["metadata"]["name"] == "a"
    assert bookmark == {
        "type": "BOOKMARK",
        "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": "2", "annotations": END}},
    }
    await watch.close()


async def test_initial_events_give_the_loop_back_after_each_piece():
    world = World()
    for number in range(1200):
        await world.put(f"c{number}")
    stream = await world.stream(**STATE)
    turns, pieces = [0], []

    async def count_turns():
        while True:
            turns[0] += 1
            await next_turn()

    counter = asyncio.create_task(count_turns())
    await next_turn()
    async for piece in stream:
        pieces.append((turns[0], piece.count(b"ADDED")))
        if sum(count for _, count in pieces) == 1200:
            break
    counter.cancel()
    turns_of_pieces = [turn for turn, _ in pieces]
    assert len(pieces) > 2
    assert turns_of_pieces == sorted(set(turns_of_pieces))


async def test_initial_events_without_bookmarks_have_no_end_marker():
    world = World()
    await world.put("a")
    watch = await world.watch(**STATE)
    assert await watch.event_keys() == [("ADDED", "a", "1")]
    await watch.close()


async def test_send_initial_events_false_omits_the_state():
    world = World()
    await world.put("a")
    watch = await world.watch(sendInitialEvents="false", resourceVersionMatch="NotOlderThan")
    assert await watch.event_keys() == []
    await world.put("b")
    assert await watch.event_keys() == [("ADDED", "b", "2")]
    await watch.close()


async def test_initial_events_at_a_future_version_wait_then_fail():
    world = World()
    watch = await world.watch(resourceVersion="99", **STATE)
    assert await watch.seen(after_seconds=2) == []
    (event,) = await watch.seen(after_seconds=2)
    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 504
    assert event["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert watch.over


async def test_watch_from_a_future_version_is_silent_until_then():
    world = World()
    watch = await world.watch(resourceVersion="2")
    await world.put("a")
    await world.put("b")
    assert await watch.event_keys() == []
    await world.put("c")
    assert await watch.event_keys() == [("ADDED", "c", "3")]
    await watch.close()


async def test_watch_from_a_future_version_of_a_shared_store_ends_with_410_at_a_change():
    world = World(remote=True)
    await world.put("a")
    watch = await world.watch(resourceVersion="3")
    world.view.catch_up()
    assert await watch.seen() == []
    await world.put("b")
    world.view.catch_up()
    (event,) = await watch.seen()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert watch.over


async def test_watch_from_a_future_version_of_a_shared_store_ignores_changes_outside_its_selection():
    world = World(remote=True)
    await world.put("a")
    watch = await world.watch(resourceVersion="3", fieldSelector="metadata.name=c")
    for name in ("b", "b", "c"):
        await world.put(name)
        world.view.catch_up()
    assert await watch.event_keys() == [("ADDED", "c", "4")]
    await watch.close()


async def test_a_watch_from_a_version_that_is_on_its_way_from_a_shared_store_waits_for_it():
    world = World(remote=True)
    await world.cache.ready()
    await world.put("a")
    watch = await world.watch(resourceVersion="1")
    await world.put("b")
    world.view.catch_up()
    assert await watch.event_keys() == [("ADDED", "b", "2")]
    await watch.close()


async def test_loss_of_history_is_an_error_event_of_open_watches():
    world = World()
    await world.put("a")
    watch = await world.watch()
    await watch.seen()
    world.cache._subscription.lose(Compacted(1, 2))
    (event,) = await watch.seen()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert watch.over


async def test_loss_of_the_stores_watch_alone_ends_watches_without_an_error():
    world = World()
    await world.put("a")
    watch = await world.watch()
    await watch.seen()
    world.cache._subscription.lose(Unavailable("a sink failed"))
    assert await watch.seen() == []
    assert watch.over


async def test_watch_from_a_version_before_the_ring_gets_410():
    world = World(ring=ChangeRing(0, changes_max=4))
    await world.cache.ready()
    for number in range(10):
        await world.put(f"c{number}")
    watch = await world.watch(resourceVersion="1")
    (event,) = await watch.seen()
    assert event["type"] == "ERROR"
    assert event["object"]["code"] == 410
    assert event["object"]["reason"] == "Expired"
    assert event["object"]["message"].startswith("too old resource version: 1 (")
    assert watch.over


async def test_slow_watcher_gets_410_without_affecting_others():
    world = World(ring=ChangeRing(0, changes_max=8))
    reader = await world.watch()
    waiter = await world.stream()
    await world.put("first")
    await reader.seen()
    for number in range(20):
        await world.put(f"c{number:02}")
        await reader.seen(after_seconds=0.1)
    piece = b"".join([piece async for piece in waiter])
    assert b'"type":"ERROR"' in piece
    assert b'"code":410' in piece
    await world.put("last")
    assert [name for _, name, _ in await reader.event_keys()] == ["last"]
    await reader.close()


async def test_bookmarks_are_sent_every_minute_and_before_the_end():
    world = World()
    version = await world.put("a")
    watch = await world.watch(resourceVersion=str(version), allowWatchBookmarks="true", timeoutSeconds="150")
    assert await watch.seen(after_seconds=59) == []
    assert await watch.event_keys(after_seconds=2) == [("BOOKMARK", "", "1")]
    await world.put("b")
    assert await watch.event_keys(after_seconds=60) == [("ADDED", "b", "2"), ("BOOKMARK", "", "2")]
    assert await watch.event_keys(after_seconds=26) == []
    assert await watch.event_keys(after_seconds=2) == [("BOOKMARK", "", "2")]
    assert not watch.over
    await watch.seen(after_seconds=2)
    assert watch.over


async def test_bookmarks_are_sent_only_when_allowed():
    world = World()
    watch = await world.watch(timeoutSeconds="150")
    assert await watch.seen(after_seconds=151) == []
    assert watch.over


async def test_watch_ends_after_a_random_timeout():
    world = World(random=lambda: 0.25)
    watch = await world.watch()
    await watch.seen(after_seconds=1800 * 1.25 - 1)
    assert not watch.over
    await watch.seen(after_seconds=2)
    assert watch.over


async def test_bookmarks_have_fields_without_omitempty():
    world = World(PODS)
    watch = await world.watch(allowWatchBookmarks="1", **STATE)
    (event,) = await watch.seen()
    assert event["object"]["spec"] == {"containers": None}
    assert event["object"]["status"] == {}
    await watch.close()


async def test_watch_as_table_has_columns_in_the_first_event_only():
    world = World(PODS)
    await world.put("a", spec={"nodeName": "n"})
    watch = await world.watch(accept=TABLE, allowWatchBookmarks="1", **STATE)
    await world.put("b", spec={})
    first, bookmark, second = (event["object"] for event in await watch.seen())
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Node"]
    assert first["rows"][0]["cells"] == ["a", "n"]
    assert first["metadata"] == {"resourceVersion": "1"}
    assert bookmark["columnDefinitions"] is None
    assert bookmark["rows"][0]["cells"] == ["", "<none>"]
    assert bookmark["rows"][0]["object"]["metadata"] == {"resourceVersion": "1", "annotations": END}
    assert second["columnDefinitions"] is None
    assert second["rows"][0]["cells"] == ["b", "<none>"]
    await watch.close()


async def test_watch_as_partial_metadata():
    world = World()
    await world.put("a", data={"k": "v"})
    watch = await world.watch(accept=METADATA)
    (event,) = await watch.seen()
    assert event["object"]["kind"] == "PartialObjectMetadata"
    assert event["object"]["apiVersion"] == "meta.k8s.io/v1"
    assert event["object"].keys() == {"kind", "apiVersion", "metadata"}
    await watch.close()


async def test_watch_in_another_version_converts_objects():
    world = World(from_storage=lambda tree: {**tree, "apiVersion": "v2", "data": {"converted": "yes"}})
    await world.put("a", data={"k": "v"})
    watch = await world.watch()
    (event,) = await watch.seen()
    assert event["object"]["apiVersion"] == "v2"
    assert event["object"]["data"] == {"converted": "yes"}
    await watch.close()


async def test_watches_end_when_the_cache_is_closed():
    world = World()
    watch = await world.watch()
    await watch.seen()
    world.cache.close()
    await watch.seen()
    assert watch.over


async def test_first_change_is_sent_at_once_and_close_followers_together():
    world = World()
    watch = await world.watch()
    await watch.seen()
    await world.put("a")
    assert [name for _, name, _ in await watch.event_keys(after_seconds=0)] == ["a"]
    await world.put("b")
    await world.put("c")
    assert [name for _, name, _ in await watch.event_keys(after_seconds=0)] == ["b", "c"]
    await watch.close()


async def test_watchers_with_equal_options_share_encoded_events():
    world = World()
    await world.cache.ready()
    one, two = await world.stream(resourceVersion="1"), await world.stream(resourceVersion="1")
    await world.put("a")
    await world.put("b")
    assert await anext(one) is await anext(two)
    await one.aclose()
    await two.aclose()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"resourceVersion": "abc"}, 500),
        ({"resourceVersion": "-1"}, 500),
        ({"labelSelector": "a in b"}, 400),
        ({"fieldSelector": "data.k=v"}, 400),
        ({"timeoutSeconds": "soon"}, 400),
        ({"shardSelector": "half"}, 400),
        ({"sendInitialEvents": "true"}, 422),
        ({"resourceVersionMatch": "NotOlderThan"}, 422),
        ({"resourceVersionMatch": "Exact", "sendInitialEvents": "true"}, 422),
        ({"continue": "x", **STATE}, 422),
    ],
)
async def test_invalid_watch_options_are_rejected_before_the_stream(query, code):
    status = await refusal(World().watch(**query))
    assert status["code"] == code


async def test_watch_as_yaml_is_rejected():
    status = await refusal(World().watch(accept="application/yaml"))
    assert status["code"] == 406
