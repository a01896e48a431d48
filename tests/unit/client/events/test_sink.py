import asyncio
import random

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client.errors import AlreadyExists, Forbidden, NotFound, RequestFailed
from steersman.client.events import sink as sinks
from steersman.client.events.sink import EventSink

EVENT = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "ns", "resourceVersion": "1"}}


def refused(kind, code, **details):
    return kind({"code": code, "reason": kind.__name__, "message": "no", "details": details})


class ScriptedClient:
    """Raises the next of ``faults`` in each call."""

    def __init__(self):
        self.calls, self.faults = [], []

    async def _respond(self, call, result):
        self.calls.append(call)
        if self.faults:
            fault = self.faults.pop(0)
            if fault is not None:
                raise fault
        return result

    async def create(self, obj):
        return await self._respond(("create", obj), obj)

    async def patch(self, resource, name, patch, **options):
        return await self._respond(("patch", patch), {"patched": patch})


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def client():
    return ScriptedClient()


@pytest.fixture
def sink(client, clock):
    return EventSink(client, clock=clock, dice=random.Random(1))


async def test_write_creates_a_new_event_without_resource_version(sink, client):
    await sink.write("v1", EVENT, None)
    assert client.calls == [("create", EVENT | {"metadata": {"name": "e", "namespace": "ns"}})]


async def test_write_patches_an_existing_event(sink, client):
    assert await sink.write("v1", EVENT, {"count": 2}) == {"patched": {"count": 2}}


async def test_write_recreates_an_expired_event(sink, client):
    client.faults = [refused(NotFound, 404)]
    await sink.write("v1", EVENT, {"count": 2})
    assert [name for name, _ in client.calls] == ["patch", "create"]


@pytest.mark.parametrize(
    ("fault", "level"),
    [
        (refused(Forbidden, 403), "ERROR"),
        (refused(AlreadyExists, 409), "DEBUG"),
        (refused(Forbidden, 403, causes=[{"reason": "NamespaceTerminating"}]), "DEBUG"),
    ],
)
async def test_write_does_not_retry_error_responses(sink, client, caplog, fault, level):
    caplog.set_level("DEBUG")
    client.faults = [fault]
    assert await sink.write("v1", EVENT, None) is None
    assert len(client.calls) == 1
    assert [record.levelname for record in caplog.records] == [level]


async def test_write_retries_missing_responses_twelve_times_every_ten_seconds(sink, client, clock, caplog):
    client.faults = [RequestFailed("away")] * 12
    task = asyncio.create_task(sink.write("v1", EVENT, None))
    await clock.advance(9.9)
    assert len(client.calls) == 2  # the first wait is cut at random
    await clock.advance(200)
    assert await task is None
    assert len(client.calls) == 12
    assert "retry limit exceeded" in caplog.text


async def test_run_writes_in_order_and_continues_after_an_exception(sink, caplog):
    done = []

    async def work(number):
        if number == 1:
            raise ZeroDivisionError
        done.append(number)

    for number in range(3):
        sink.submit(lambda number=number: work(number))
    task = asyncio.create_task(sink.run())
    await sink.flush()
    task.cancel()
    await asyncio.wait([task])
    assert done == [0, 2]
    assert "an event could not be worked on" in caplog.text


async def test_submit_drops_and_counts_events_when_the_queue_is_full(client, clock, monkeypatch, caplog):
    monkeypatch.setattr(sinks, "QUEUE_MAX", 2)
    sink = EventSink(client, clock=clock, dice=random.Random(1))
    for _ in range(5):
        sink.submit(lambda: sink.write("v1", EVENT, None))
    assert sink.dropped == 3
    assert "too many events wait" in caplog.text
