"""Counters of the events of watches."""

from tests.unit.apiserver.generic.test_feed import HEAD, World

from steersman.apiserver.generic.feed import Feed
from steersman.apiserver.generic.selection import select
from steersman.apiserver.generic.watch_counts import WatchCounts


async def read(feed: Feed, world: World, names: str, watchers: int) -> int:
    """Store objects, and let watchers read their events; return the bytes of one watcher."""
    start = world.cache.ring.end
    for name in names:
        await world.put(name)
    frames = b""
    for _ in range(watchers):
        frames, _ = feed.read(start)
    return len(frames)


async def test_events_count_once_for_each_watcher():
    world, counts = World(), WatchCounts()
    await world.cache.ready()
    feed = Feed(world.cache, select(world.cache), whole=lambda item: HEAD + item.raw[1:], head=HEAD, counts=counts)
    size = await read(feed, world, "ab", watchers=3)
    assert (counts.sizes.count, counts.sizes.total) == (6, 3 * size)
    assert counts.sizes.count == 6  # reading it counts nothing twice


async def test_dropped_reads_are_counted():
    world, counts = World(), WatchCounts()
    await world.cache.ready()
    feed = Feed(world.cache, select(world.cache), whole=lambda item: HEAD + item.raw[1:], head=HEAD, counts=counts)
    for name in "abcde":  # more than a feed keeps
        await read(feed, world, name, watchers=2)
    feed.settle()
    del feed
    assert counts.sizes.count == 10


def test_durations_of_streaming_lists_are_kept_by_scope():
    counts = WatchCounts()
    counts.observe_list("cluster", 0.3)
    counts.observe_list("namespace", 0.01)
    counts.observe_list("cluster", 70)
    assert {scope: values.count for scope, values in counts.list_durations.items()} == {"cluster": 2, "namespace": 1}
