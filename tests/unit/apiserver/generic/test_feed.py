"""Feeds: what changes look like to those who see a part, and bytes made once."""

from __future__ import annotations

from weakref import WeakValueDictionary

import pytest
from tests.unit.apiserver.reading import World

from steersman.apimachinery.selectors import parse_label_selector
from steersman.apiserver.generic.change_ring import Change, EventType
from steersman.apiserver.generic.entry import Entry, Layout
from steersman.apiserver.generic.feed import Feed, protobuf_event_frame, selected_event, shared_feed
from steersman.apiserver.generic.selection import select

LAYOUT = Layout("ConfigMap", "v1")
HEAD = LAYOUT.head


def entry(app: str, revision: int) -> Entry:
    tree = {"metadata": {"name": "a", "labels": {"app": app}}}
    return LAYOUT.entry("/registry/configmaps/ns/a", LAYOUT.encode(tree), revision)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, "x", "ADDED"),
        (None, "y", None),
        ("x", "x", "MODIFIED"),
        ("y", "x", "ADDED"),
        ("x", "y", "DELETED"),
        ("y", "y", None),
    ],
)
def test_selected_objects_enter_as_added_and_leave_as_deleted(before, after, expected):
    selection = select(World().cache, labels=parse_label_selector("app=x"))
    previous = entry(before, 1) if before else None
    type_ = EventType.MODIFIED if before else EventType.ADDED
    shown = selected_event(selection, Change(type_, entry(after, 2), previous, 2))
    assert (shown and shown[0]) == expected


def test_leaving_object_has_its_last_matching_state_and_the_new_version():
    selection = select(World().cache, labels=parse_label_selector("app=x"))
    shown = selected_event(selection, Change(EventType.MODIFIED, entry("y", 2), entry("x", 1), 2))
    assert shown is not None
    assert shown[1].labels == {"app": "x"}
    assert shown[1].revision == 2


@pytest.mark.parametrize(("before", "expected"), [("x", "DELETED"), ("y", None)])
def test_deletions_are_sent_to_feeds_that_selected_the_object(before, expected):
    selection = select(World().cache, labels=parse_label_selector("app=x"))
    previous = entry(before, 1)
    shown = selected_event(selection, Change(EventType.DELETED, previous.at(2), previous, 2))
    assert (shown and shown[0]) == expected


async def test_range_is_joined_once_for_all_readers():
    world = World()
    await world.cache.ready()
    feed = Feed(world.cache, select(world.cache), whole=lambda item: HEAD + item.raw[1:], head=HEAD)
    start = world.cache.ring.end
    await world.put("a")
    await world.put("b")
    frames, end = feed.read(start)
    assert feed.read(start)[0] is frames
    assert end == world.cache.ring.end
    assert frames.count(b"\n") == 2
    assert feed.read(end) == (b"", end)


async def test_spliced_and_whole_frames_are_equal():
    world = World()
    await world.put("a")
    await world.cache.ready()
    selection = select(world.cache)
    quick = Feed(world.cache, selection, whole=lambda item: b"", head=HEAD)
    slow = Feed(world.cache, selection, whole=lambda item: HEAD + item.raw[1:], head=None)
    (one,) = world.cache.snapshot()
    assert quick.frame(EventType.ADDED, one) == slow.frame(EventType.ADDED, one)


async def test_long_range_is_read_in_parts():
    world = World()
    await world.cache.ready()
    feed = Feed(world.cache, select(world.cache), whole=lambda item: HEAD + item.raw[1:], head=HEAD)
    cursor = world.cache.ring.end
    for number in range(5):
        await world.put(f"c{number}", data={"k": "x" * 100_000})
    parts = []
    while cursor < world.cache.ring.end:
        frames, cursor = feed.read(cursor)
        parts.append(frames)
    assert len(parts) == 2
    assert b"".join(parts).count(b"\n") == 5


async def test_feed_ends_with_its_last_reader():
    world = World()
    feeds: WeakValueDictionary = WeakValueDictionary()

    def make() -> Feed:
        return Feed(world.cache, select(world.cache), whole=lambda item: b"", head=None)

    one = shared_feed(feeds, ("all",), make)
    assert shared_feed(feeds, ("all",), make) is one
    assert shared_feed(feeds, ("other",), make) is not one
    del one
    assert list(feeds) == []


def test_protobuf_event_frame_is_a_length_delimited_watch_event():
    frame = protobuf_event_frame(EventType.ADDED, b"k8s\x00x")
    assert frame == b"\x00\x00\x00\x10" + b"\x0a\x05ADDED" + b"\x12\x07" + b"\x0a\x05k8s\x00x"
