"""Informer: cache and notification of listeners."""

import asyncio
import random
from contextlib import asynccontextmanager

import pytest
from lightkube.models.core_v1 import ConfigMap
from tests.unit.client.scripted import ScriptedTransport, Stream, bookmark, config_map, event, listing, refusal

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.asynckit.structured_logging import V2
from steersman.client.causes import current_cause
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.client import Client
from steersman.client.informer import Informer, InformerClosed
from steersman.client.metadata_interner import drop_managed_fields
from steersman.client.reflector import ReflectorOptions
from steersman.client.resource_types import tree
from steersman.client.source import ClientSource

LIST = ReflectorOptions(streaming_list=False)
TREES = tree("v1", "ConfigMap")


def with_kind(obj):
    """Return the object as cached: with the kind that list items omit."""
    return {**obj, "apiVersion": "v1", "kind": "ConfigMap"}


A5, A9, B6 = with_kind(config_map("a", 5)), with_kind(config_map("a", 9)), with_kind(config_map("b", 6))


class Server(Stream):
    """Watch stream that a test feeds with events."""

    def __init__(self):
        super().__init__()
        self._queue = asyncio.Queue()

    def send(self, *pieces):
        for piece in pieces:
            self._queue.put_nowait(piece)

    async def __aiter__(self):
        while True:
            yield await self._queue.get()


@asynccontextmanager
async def running(*script, **options):
    clock, transport = FakeClock(), ScriptedTransport(*script)
    source = ClientSource(Client(transport, clock=clock), TREES, namespace="default")
    async with Informer(source, clock=clock, dice=random.Random(1), options=LIST, **options) as informer:
        await clock.advance(0)
        yield informer, clock


async def test_cache_follows_the_server():
    watch = Server()
    async with running(listing(A5, B6, version=8), watch) as (informer, clock):
        assert (informer.has_synced, list(informer.lister), informer.resource_version) == (True, [A5, B6], "8")
        watch.send(
            event("MODIFIED", A9), event("DELETED", {**B6, "metadata": {**B6["metadata"], "resourceVersion": "10"}})
        )
        await clock.advance(0)
        assert (list(informer.lister), informer.resource_version) == ([A9], "10")
        assert informer.name == "configmaps"


async def test_has_synced_is_false_before_the_list():
    async with running(None) as (informer, clock):
        task = asyncio.ensure_future(informer.wait_synced(timeout_seconds=5))
        await clock.advance(5)
        assert not informer.has_synced
        with pytest.raises(TimeoutError):
            task.result()


async def test_callbacks_receive_old_and_new_objects():
    watch, received = Server(), []
    async with running(listing(A5, version=8), watch) as (informer, clock):
        informer.add_callback(received.append)
        last = with_kind(config_map("a", 11))
        watch.send(event("MODIFIED", A9), event("ADDED", with_kind(config_map("c", 10))), event("DELETED", last))
        await clock.advance(0)
    assert received == [
        Added(A5, is_initial=True),
        Updated(A5, A9),
        Added(with_kind(config_map("c", 10))),
        Deleted(last),
    ]


async def test_changes_are_causes_of_what_callbacks_queue(caplog):
    caplog.set_level(V2)
    watch, causes = Server(), []
    async with running(listing(A5, version=8), watch) as (informer, clock):
        informer.add_callback(lambda change: causes.append(current_cause()))
        watch.send(event("MODIFIED", A9))
        await clock.advance(0)
    assert causes == ["ConfigMap default/a listed", "ConfigMap default/a updated"]


async def test_callbacks_receive_the_first_list_as_initial():
    received = []
    clock, transport = FakeClock(), ScriptedTransport(listing(A5, version=8), Stream())
    informer = Informer(ClientSource(Client(transport, clock=clock), TREES), clock=clock, options=LIST)
    informer.add_callback(received.append)
    async with informer:
        await clock.advance(0)
    assert received == [Added(A5, is_initial=True)]


async def test_missed_deletion_has_an_unknown_final_state():
    received = []
    script = listing(A5, B6, version=8), refusal(410, "Expired"), listing(A9, version=20), Stream()
    clock, transport = FakeClock(), ScriptedTransport(*script)
    informer = Informer(ClientSource(Client(transport, clock=clock), TREES), clock=clock, options=LIST)
    informer.add_callback(received.append)
    async with informer:
        await clock.advance(1)
    assert received[2:] == [Deleted(B6, final_state_unknown=True), Updated(A5, A9)]


async def test_recreated_object_is_a_deletion_and_an_addition():
    received, another = [], {**A9, "metadata": {**A9["metadata"], "uid": "another"}}
    script = listing(A5, version=8), refusal(410, "Expired"), listing(another, version=20), Stream()
    clock, transport = FakeClock(), ScriptedTransport(*script)
    informer = Informer(ClientSource(Client(transport, clock=clock), TREES), clock=clock, options=LIST)
    informer.add_callback(received.append)
    async with informer:
        await clock.advance(1)
    assert received[1:] == [Deleted(A5, final_state_unknown=True), Added(another)]
    assert list(informer.lister) == [another]


async def test_relist_without_changes_notifies_no_listener():
    received = []
    async with running(listing(A5, version=8), refusal(410, "Expired"), listing(A5, version=20), Stream()) as (
        informer,
        clock,
    ):
        await clock.advance(1)
        informer.add_callback(received.append)
    assert received == [Added(A5, is_initial=True)]


async def test_handler_runs_in_its_own_task():
    watch, received = Server(), []
    async with running(listing(A5, version=8), watch) as (informer, clock):

        async def hear(change):
            await clock.sleep(1)
            received.append(change)

        handler = informer.add_handler(hear)
        watch.send(event("MODIFIED", A9))
        await clock.advance(0)
        assert (list(informer.lister), received) == ([A9], [])
        await clock.advance(2)
        assert received == [Added(A5, is_initial=True), Updated(A5, A9)]
        await handler.drained()


async def test_removed_listener_is_not_notified():
    watch, received = Server(), []
    async with running(listing(version=8), watch) as (informer, clock):
        callback = informer.add_callback(received.append)
        informer.remove(callback)
        informer.remove(callback)
        watch.send(event("ADDED", A9))
        await clock.advance(0)
    assert received == []


async def test_transform_returns_the_cached_object():
    owned = {**A5, "metadata": {**A5["metadata"], "managedFields": [{"manager": "x"}]}}
    watch = Server()
    async with running(listing(owned, version=8), watch, transform=drop_managed_fields) as (informer, clock):
        assert list(informer.lister) == [A5]
        watch.send(event("MODIFIED", {**A9, "metadata": {**A9["metadata"], "managedFields": []}}))
        await clock.advance(0)
        assert list(informer.lister) == [A9]


async def test_lister_by_index_returns_matching_objects():
    async with running(listing(with_kind(config_map("a", 5, color="red")), B6, version=8), Stream()) as (informer, _):
        informer.add_index("color", lambda obj: obj["data"].values())
        assert [obj["metadata"]["name"] for obj in informer.lister.by_index("color", "red")] == ["a"]


async def test_resync_notifies_without_requests():
    received = []
    async with running(listing(A5, version=8), Stream(), resync_seconds=60) as (informer, clock):
        informer.add_callback(received.append)
        await clock.advance(60)
        assert len(received) == 1
        await clock.advance(6)
        assert received[1:] == [Updated(A5, A5)]


@pytest.mark.parametrize("written", [A9, "9"], ids=["object", "version"])
async def test_wait_seen_returns_after_the_event_of_a_write(written):
    watch = Server()
    async with running(listing(A5, version=8), watch) as (informer, clock):
        await informer.wait_seen("8")
        task = asyncio.ensure_future(informer.wait_seen(written))
        await clock.advance(10)
        assert not task.done()
        watch.send(event("MODIFIED", A9))
        await clock.advance(0)
        assert task.done()


async def test_wait_seen_returns_after_a_bookmark():
    watch = Server()
    async with running(listing(A5, version=8), watch) as (informer, clock):
        task = asyncio.ensure_future(informer.wait_seen("15"))
        watch.send(bookmark("14"))
        await clock.advance(0)
        assert not task.done()
        watch.send(bookmark("15"))
        await clock.advance(0)
        assert task.done()


async def test_wait_seen_raises_timeout_error():
    async with running(listing(A5, version=8), Stream()) as (informer, clock):
        task = asyncio.ensure_future(informer.wait_seen("9", timeout_seconds=5))
        await clock.advance(5)
        with pytest.raises(TimeoutError):
            task.result()


async def test_wait_seen_compares_opaque_versions_for_equality():
    watch, written = Server(), with_kind(config_map("a", "xyz"))
    async with running(listing(with_kind(config_map("a", "abc")), version="l1"), watch) as (informer, clock):
        task = asyncio.ensure_future(informer.wait_seen(written))
        await clock.advance(0)
        assert not task.done()
        watch.send(event("MODIFIED", written))
        await clock.advance(0)
        assert task.done()


async def test_wait_deleted_returns_after_the_deletion():
    watch = Server()
    async with running(listing(A5, version=8), watch) as (informer, clock):
        await informer.wait_deleted("default/zzz")
        await informer.wait_deleted("default/a", uid="another")
        task = asyncio.ensure_future(informer.wait_deleted("default/a", uid="uid-a"))
        await clock.advance(0)
        assert not task.done()
        watch.send(event("DELETED", with_kind(config_map("a", 10))))
        await clock.advance(0)
        assert task.done()


async def test_close_raises_in_waiters_and_keeps_the_cache():
    async with running(listing(A5, version=8), Stream()) as (informer, clock):
        task = asyncio.ensure_future(informer.wait_seen("9"))
        await clock.advance(0)
        await informer.close()
        await clock.advance(0)
        with pytest.raises(InformerClosed, match="the informer of configmaps was closed"):
            task.result()
        assert list(informer.lister) == [A5]


@pytest.mark.parametrize("is_waiting", [True, False])
async def test_informer_wait_synced_raises_when_closed_before_the_first_list(is_waiting):
    informer = Informer(ClientSource(Client(ScriptedTransport(), clock=FakeClock()), TREES), clock=FakeClock())
    waits = asyncio.ensure_future(informer.wait_synced()) if is_waiting else None
    await RealClock().sleep(0)
    await informer.close()
    with pytest.raises(InformerClosed, match="the informer of configmaps was closed"):
        await (waits or informer.wait_synced())


async def test_start_is_idempotent():
    async with running(listing(A5, version=8), Stream()) as (informer, clock):
        informer.start()
        await clock.advance(1)
        assert len(informer.lister) == 1


async def test_informer_caches_typed_objects():
    clock, transport = FakeClock(), ScriptedTransport(listing(A5, version=8), Stream())
    client = Client(transport, clock=clock)
    from steersman.client.resource_types import typed

    async with Informer(ClientSource(client, typed(ConfigMap)), clock=clock, options=LIST) as informer:
        await informer.wait_synced()
        result = informer.lister.get("a", namespace="default")
    assert result.metadata.resourceVersion == "5"
