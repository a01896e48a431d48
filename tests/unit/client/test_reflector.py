"""Reflector against a scripted server, with a fake clock."""

import asyncio
import random
from contextlib import asynccontextmanager

import pytest
from lightkube.models.core_v1 import ConfigMap
from tests.unit.client.scripted import (
    ScriptedTransport,
    Stream,
    bookmark,
    config_map,
    event,
    listing,
    refusal,
)

from steersman.asynckit.clock import FakeClock
from steersman.client.client import Client
from steersman.client.objects import key_of, resource_version_of
from steersman.client.reflector import Reflector, ReflectorOptions
from steersman.client.resource_types import typed
from steersman.client.source import ClientSource
from steersman.client.transport import TransportError

LIST = ReflectorOptions(streaming_list=False, page_size=2, idle_seconds=100)
STREAM = ReflectorOptions(page_size=2, idle_seconds=100)
A5, A7, A9 = (config_map("a", n) for n in (5, 7, 9))
B6 = config_map("b", 6)


class Sink:
    def __init__(self):
        self.calls = []

    def transform(self, obj):
        return obj

    async def replace(self, objects):
        self.calls.append(("ALL", [f"{key_of(o)}@{resource_version_of(o)}" for o in objects]))

    async def change(self, kind, obj):
        self.calls.append((kind, f"{key_of(obj)}@{resource_version_of(obj)}"))

    def progressed(self):
        pass


class Broken(Sink):
    """Sink whose first change raises."""

    failed = False

    async def change(self, kind, obj):
        if not self.failed:
            self.failed = True
            raise RuntimeError("broken")
        await super().change(kind, obj)


@asynccontextmanager
async def running(*script, options=LIST, sink=None):
    """Yield a running reflector at time zero, after all immediate work."""
    clock, transport, sink = FakeClock(), ScriptedTransport(*script), sink or Sink()
    source = ClientSource(Client(transport, clock=clock), typed(ConfigMap), namespace="default")
    reflector = Reflector(source, sink, clock=clock, dice=random.Random(1), options=options)
    task = asyncio.create_task(reflector.run())
    await clock.advance(0)
    yield clock, transport, sink.calls, reflector
    failed = task.done()
    task.cancel()
    await asyncio.wait([task])
    assert not failed, task


def watched_from(transport):
    """Return the start versions of the watches."""
    queries = [dict(request.query) for request in transport.requests]
    return [query.get("resourceVersion", "") for query in queries if "watch" in query]


async def test_reflector_lists_in_pages_then_watches():
    pages = listing(A5, B6, version=8, continue_token="t"), listing(config_map("c", 7), version=8)
    async with running(*pages, Stream(event("MODIFIED", A9))) as (_, transport, received, _):
        assert received == [("ALL", ["default/a@5", "default/b@6", "default/c@7"]), ("MODIFIED", "default/a@9")]
        assert [dict(r.query).get("continue") for r in transport.requests[:2]] == [None, "t"]
        assert watched_from(transport) == ["8"]


async def test_reflector_lists_at_once_when_a_continue_token_expires():
    pages = listing(A5, B6, version=8, continue_token="t"), refusal(410, "Expired"), listing(A9, version=10)
    async with running(*pages, Stream()) as (_, transport, received, _):
        assert received == [("ALL", ["default/a@9"])]
        assert "limit" not in dict(transport.requests[2].query)
        assert watched_from(transport) == ["10"]


async def test_reflector_uses_a_streaming_list():
    stream = Stream(event("ADDED", A5) + event("ADDED", B6), bookmark("8", ends_initial=True) + event("MODIFIED", A9))
    async with running(stream, options=STREAM) as (_, transport, received, reflector):
        assert received == [("ALL", ["default/a@5", "default/b@6"]), ("MODIFIED", "default/a@9")]
        query = dict(transport.requests[0].query)
        assert (query["sendInitialEvents"], query["resourceVersionMatch"]) == ("true", "NotOlderThan")
        assert reflector.position.newest == "9"


async def test_reflector_applies_changes_during_initial_events():
    pieces = event("ADDED", A5) + event("ADDED", B6) + event("MODIFIED", A7) + event("DELETED", B6)
    async with running(Stream(pieces + bookmark("8", ends_initial=True)), options=STREAM) as (_, _, received, _):
        assert received == [("ALL", ["default/a@7"])]


@pytest.mark.parametrize("code", [400, 405, 406, 422])
async def test_reflector_falls_back_to_a_list_without_streaming_support(code):
    script = refusal(code), listing(A5, version=8), Stream(), refusal(410, "Expired"), listing(A5, version=9), Stream()
    async with running(*script, options=STREAM) as (clock, transport, received, _):
        assert received == [("ALL", ["default/a@5"])]
        await clock.advance(200)  # the watch is silent, then refused: it is not asked for a streaming list again
        assert sum("sendInitialEvents" in dict(r.query) for r in transport.requests) == 1


async def test_reflector_falls_back_to_a_list_when_initial_events_stall():
    async with running(Stream(event("ADDED", A5)), listing(A5, version=8), Stream(), options=STREAM) as state:
        clock, _, received, _ = state
        await clock.advance(16)
        assert received == [("ALL", ["default/a@5"])]


async def test_reflector_restarts_a_broken_streaming_list():
    whole = Stream(event("ADDED", A5) + bookmark("8", ends_initial=True))
    async with running(Stream(event("ADDED", A5), ends=True), whole, options=STREAM) as (_, _, received, _):
        assert received == [("ALL", ["default/a@5"])]


@pytest.mark.parametrize(
    "end", [Stream(event("MODIFIED", A9), ends=True), Stream(event("MODIFIED", A9), TransportError("reset"))]
)
async def test_reflector_resumes_just_before_the_last_event(end):
    async with running(listing(A5, version=8), end, Stream()) as (_, transport, _, _):
        assert watched_from(transport) == ["8", "8"]


async def test_reflector_resumes_from_a_bookmark():
    watch = Stream(event("MODIFIED", A9) + bookmark("20"), ends=True)
    async with running(listing(A5, version=8), watch, Stream()) as (_, transport, _, _):
        assert watched_from(transport) == ["8", "20"]


async def test_reflector_drops_repeated_events():
    first = Stream(event("DELETED", config_map("a", 9)) + event("ADDED", config_map("a", 11)), ends=True)
    again = Stream(event("DELETED", config_map("a", 9)) + event("ADDED", config_map("a", 12)))
    async with running(listing(A5, version=8), first, again) as (_, _, received, _):
        assert received[1:] == [("DELETED", "default/a@9"), ("ADDED", "default/a@11"), ("ADDED", "default/a@12")]


async def test_reflector_delivers_all_objects_of_a_transaction_when_the_watch_breaks():
    first = Stream(event("ADDED", config_map("x", 9)), ends=True)
    rest = Stream(event("ADDED", config_map("x", 9)) + event("ADDED", config_map("y", 9)))
    async with running(listing(version=8), first, rest) as (_, transport, received, _):
        assert watched_from(transport) == ["8", "8"]
        assert ("ADDED", "default/y@9") in received


@pytest.mark.parametrize(
    "end",
    [
        refusal(410, "Expired"),
        Stream(event("ERROR", {"kind": "Status", "code": 410, "reason": "Gone"})),
        refusal(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge"}]),
    ],
    ids=["refused", "in the stream", "the server went back in time"],
)
async def test_reflector_relists_when_the_version_expired(end):
    async with running(listing(A5, version=8), end, listing(B6, version=20), Stream()) as (_, transport, received, _):
        assert received == [("ALL", ["default/a@5"]), ("ALL", ["default/b@6"])]
        assert watched_from(transport) == ["8", "20"]


async def test_reflector_resumes_after_other_errors():
    error = Stream(event("ERROR", {"kind": "Status", "code": 500, "reason": "InternalError"}))
    async with running(listing(A5, version=8), error, Stream()) as (_, transport, received, _):
        assert len(received) == 1
        assert watched_from(transport) == ["8", "8"]


async def test_reflector_resumes_a_silent_watch():
    async with running(listing(A5, version=8), Stream(), Stream()) as (clock, transport, _, _):
        await clock.advance(99)
        assert watched_from(transport) == ["8"]
        await clock.advance(1)
        assert watched_from(transport) == ["8", "8"]


@pytest.mark.parametrize(
    ("script", "options"),
    [
        ((listing(A5, version=8), Stream()), LIST),
        ((Stream(event("ADDED", A5), bookmark("8", ends_initial=True)),), STREAM),
    ],
)
async def test_watching_seconds_begin_with_the_watch(script, options):
    async with running(*script, options=options) as (clock, transport, _, reflector):
        await clock.advance(99)
        assert reflector.watching_seconds == 99
        transport.add(*[TransportError("reset")] * 3)
        await clock.advance(1)
        assert reflector.watching_seconds == 0


async def test_watching_seconds_are_zero_during_a_streaming_list():
    async with running(Stream(event("ADDED", A5)), options=STREAM) as (clock, _, _, reflector):
        await clock.advance(5)
        assert reflector.watching_seconds == 0


async def test_reflector_retries_the_first_failure_at_once_then_backs_off():
    script = [TransportError("reset")] * 4
    async with running(listing(A5, version=8), *script, Stream()) as (clock, transport, _, _):
        assert len(watched_from(transport)) == 2
        await clock.advance(0.8)
        assert len(watched_from(transport)) == 2
        await clock.advance(0.8)  # the jitter is at most as long again
        assert len(watched_from(transport)) == 3
        await clock.advance(1.5)
        assert len(watched_from(transport)) == 3
        await clock.advance(1.7)
        assert len(watched_from(transport)) == 4


async def test_reflector_resets_the_backoff_after_an_event():
    broken = [TransportError("reset")] * 3
    news = Stream(event("MODIFIED", A9), TransportError("reset"))
    async with running(listing(A5, version=8), *broken, news, Stream()) as (clock, transport, _, _):
        await clock.advance(30)
        assert transport.script == []


async def test_reflector_respects_retry_after():
    slow = refusal(429, "TooManyRequests", retryAfterSeconds=20)
    async with running(listing(A5, version=8), slow, Stream()) as (clock, transport, _, _):
        await clock.advance(19)
        assert len(watched_from(transport)) == 1
        await clock.advance(1)
        assert len(watched_from(transport)) == 2


async def test_reflector_does_not_count_idle_watches_as_failures():
    quiet = [Stream()] * 30
    async with running(listing(A5, version=8), *quiet) as (clock, transport, received, _):
        await clock.advance(100 * 29)
        assert transport.script == []
        assert received == [("ALL", ["default/a@5"])]


async def test_reflector_relists_after_many_resumes_without_events():
    script = [refusal(500, "InternalError")] * 10
    options = ReflectorOptions(streaming_list=False, idle_seconds=10_000)
    async with running(listing(A5, version=8), *script, listing(B6, version=9), Stream(), options=options) as state:
        clock, _, received, _ = state
        await clock.advance(1000)
        assert received == [("ALL", ["default/a@5"]), ("ALL", ["default/b@6"])]


async def test_reflector_relists_after_an_exception_of_the_sink(caplog):
    watch = Stream(event("MODIFIED", A9))
    async with running(listing(A5, version=8), watch, listing(A9, version=9), Stream(), sink=Broken()) as state:
        clock, _, received, _ = state
        await clock.advance(2)
        assert received == [("ALL", ["default/a@5"]), ("ALL", ["default/a@9"])]
        assert "cannot process the events" in caplog.text


async def test_reflector_relists_after_an_undecodable_event():
    watch = Stream(b"nonsense\n")
    async with running(listing(A5, version=8), watch, listing(A9, version=9), Stream()) as (_, _, received, _):
        assert received[-1] == ("ALL", ["default/a@9"])


async def test_reflector_ignores_unknown_event_types(caplog):
    async with running(listing(A5, version=8), Stream(event("PAINTED", A9) + event("MODIFIED", A9))) as (
        _,
        _,
        received,
        _,
    ):
        assert received[1:] == [("MODIFIED", "default/a@9")]
        assert "unknown type 'PAINTED'" in caplog.text


async def test_watch_timeout_is_five_to_ten_minutes():
    async with running(listing(A5, version=8), Stream()) as (_, transport, _, _):
        assert 300 <= int(dict(transport.requests[1].query)["timeoutSeconds"]) <= 600
