"""Events of watches in CBOR."""

from __future__ import annotations

import asyncio

from tests.unit.apiserver.reading import World, request

from steersman.apimachinery.cbor import SELF_DESCRIBED, decode, encode_object
from steersman.apiserver.endpoints.cbor_views import event_item, framing
from steersman.apiserver.endpoints.watch import watch
from steersman.apiserver.generic.change_ring import ChangeRing, EventType


async def opened(world, **query):
    watch_request = request(query, namespace="ns", accept="application/cbor", verb="watch")
    watch_request.offers_cbor = True
    return await watch(world.served, watch_request)


def test_event_is_one_self_described_item():
    item = event_item(EventType.ADDED, encode_object({"kind": "Pod"}))
    assert item.startswith(SELF_DESCRIBED)
    assert decode(item) == {"type": "ADDED", "object": {"kind": "Pod"}}


def test_events_of_websockets_are_delimited():
    framed = framing(is_delimited=True).event(EventType.DELETED, encode_object({}))
    assert int.from_bytes(framed[:4], "big") == len(framed) - 4
    assert decode(framed[4:]) == {"type": "DELETED", "object": {}}


async def test_watch_sends_objects_in_cbor():
    world = World()
    await world.put("a", data={"k": "v"})
    response = await opened(world)
    assert (b"content-type", b"application/cbor-seq") in response.headers
    event = decode(await anext(response.stream))
    assert event["type"] == "ADDED"
    assert (event["object"]["kind"], event["object"]["data"]) == ("ConfigMap", {"k": "v"})
    await response.stream.aclose()


async def test_bookmarks_are_in_cbor():
    world = World()
    await world.put("a")
    response = await opened(world, allowWatchBookmarks="true")
    await anext(response.stream)
    reading = asyncio.ensure_future(anext(response.stream))
    await world.clock.advance(70)
    event = decode(await reading)
    assert (event["type"], event["object"]["metadata"]["resourceVersion"]) == ("BOOKMARK", str(world.cache.revision))
    await response.stream.aclose()


async def test_failure_of_a_watch_is_an_event_in_cbor():
    world = World(ring=ChangeRing(0, changes_max=4))
    await world.cache.ready()
    for number in range(10):
        await world.put(f"c{number}")
    response = await opened(world, resourceVersion="1")
    event = decode(await anext(response.stream))
    assert (event["type"], event["object"]["kind"], event["object"]["code"]) == ("ERROR", "Status", 410)
    await response.stream.aclose()
