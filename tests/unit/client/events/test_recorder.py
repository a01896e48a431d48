import asyncio
import random

import pytest
from lightkube.models.core_v1 import ConfigMap, Node
from lightkube.models.meta_v1 import ObjectMeta

from steersman.asynckit.clock import FakeClock
from steersman.client import Client, tree
from steersman.client.events import EventBroadcaster
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.testing import InProcessAPIServer

CORE, SERIES = tree("v1", "Event"), tree("events.k8s.io/v1", "Event")
OBJ = ConfigMap(metadata=ObjectMeta(name="a", namespace="default", uid="u"))


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def client(clock):
    async with InProcessAPIServer(clock=clock) as server:
        yield Client(LoopbackTransport(server.core.client), clock=clock)


@pytest.fixture
async def broadcaster(client, clock):
    event_broadcaster = EventBroadcaster(client, clock=clock, dice=random.Random(1))
    task = asyncio.create_task(event_broadcaster.run())
    yield event_broadcaster
    task.cancel()
    await asyncio.wait([task])


async def written(client, broadcaster, kind=CORE):
    await broadcaster.flush()
    return await client.list(kind, namespace="default")


async def test_event_has_object_reason_message_and_source(client, broadcaster):
    broadcaster.recorder("tester", host="here").event(OBJ, "Warning", "Failed", "it failed", field_path="data")
    (event,) = await written(client, broadcaster)
    assert event["involvedObject"] == {
        "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "default", "uid": "u", "fieldPath": "data",
    }  # fmt: skip
    assert (event["type"], event["reason"], event["message"], event["count"]) == ("Warning", "Failed", "it failed", 1)
    assert event["source"] == {"component": "tester", "host": "here"}
    assert (event["reportingComponent"], event["reportingInstance"]) == ("tester", "here")
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-01-01T00:00:00Z"
    name, _, moment = event["metadata"]["name"].partition(".")
    assert (name, int(moment, 16) // 10**9) == ("a", 1767225600)


async def test_repeated_events_are_counted_in_one_object(client, broadcaster, clock):
    recorder = broadcaster.recorder("tester")
    for _ in range(3):
        recorder.event(OBJ, "Normal", "Done", "it is done")
        await broadcaster.flush()
        await clock.advance(1)
    (event,) = await written(client, broadcaster)
    assert (event["count"], event["lastTimestamp"]) == (3, "2026-01-01T00:00:02Z")


async def test_repeated_events_are_counted_before_the_first_write(client, broadcaster):
    recorder = broadcaster.recorder("tester")
    for _ in range(3):
        recorder.event(OBJ, "Normal", "Done", "it is done")
    (event,) = await written(client, broadcaster)
    assert event["count"] == 3


async def test_events_of_one_instant_have_distinct_names(client, broadcaster):
    recorder = broadcaster.recorder("tester")
    recorder.event(OBJ, "Normal", "Done", "one")
    recorder.event(OBJ, "Normal", "Done", "two")
    assert len(await written(client, broadcaster)) == 2


async def test_events_of_an_object_are_rate_limited(client, broadcaster):
    recorder = broadcaster.recorder("tester")
    for number in range(40):
        recorder.event(OBJ, "Normal", f"Reason{number}", "a message")
    assert len(await written(client, broadcaster)) == 25


async def test_events_of_cluster_scoped_objects_are_in_namespace_default(client, broadcaster):
    broadcaster.recorder("tester").event(Node(metadata=ObjectMeta(name="n")), "Normal", "Ready", "it is ready")
    (event,) = await written(client, broadcaster)
    assert event["involvedObject"]["kind"] == "Node"


async def test_message_is_truncated_to_the_limit_of_the_api(client, broadcaster):
    broadcaster.recorder("tester").event(OBJ, "Normal", "Long", "ä" * 2000)
    (event,) = await written(client, broadcaster)
    assert event["message"] == "ä" * 512


@pytest.mark.parametrize(
    ("obj", "type_", "message"),
    [
        (OBJ, "Error", "unsupported event type 'Error'"),
        ({"metadata": {}}, "Normal", "could not construct reference"),
        (ObjectMeta(), "Normal", "could not construct reference"),
    ],
)
async def test_invalid_event_is_logged_and_not_raised(client, broadcaster, caplog, obj, type_, message):
    broadcaster.recorder("tester").event(obj, type_, "Reason", "a message")
    assert await written(client, broadcaster) == []
    assert message in caplog.text


async def test_series_recorder_sets_action_and_related_object(client, broadcaster):
    recorder = broadcaster.series_recorder("example.com/tester", "tester-1")
    recorder.event(OBJ, "Normal", "Scheduled", "Binding", "bound", related=Node(metadata=ObjectMeta(name="n")))
    (event,) = await written(client, broadcaster, SERIES)
    assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert (event["reportingController"], event["reportingInstance"]) == ("example.com/tester", "tester-1")
    assert (event["action"], event["note"], event["related"]["name"]) == ("Binding", "bound", "n")
    assert "series" not in event


async def test_series_recorder_counts_repeated_events_in_a_series(client, broadcaster, clock):
    recorder = broadcaster.series_recorder("example.com/tester", "tester-1")

    async def record_and_read():
        recorder.event(OBJ, "Normal", "Scheduled", "Binding", "bound")
        (event,) = await written(client, broadcaster, SERIES)
        return event.get("series", {}).get("count")

    assert [await record_and_read() for _ in range(4)] == [None, 2, 2, 2]
    await clock.advance(13 * 60)  # nothing happened for more than six minutes: the series has ended
    (event,) = await written(client, broadcaster, SERIES)
    assert event["series"]["count"] == 4
    assert await record_and_read_new(recorder, client, broadcaster) == 2


async def record_and_read_new(recorder, client, broadcaster):
    recorder.event(OBJ, "Normal", "Scheduled", "Binding", "bound")
    return len(await written(client, broadcaster, SERIES))


async def test_running_series_is_written_every_half_hour(client, broadcaster, clock):
    recorder = broadcaster.series_recorder("example.com/tester", "tester-1")
    for _ in range(16):
        recorder.event(OBJ, "Normal", "Scheduled", "Binding", "bound")
        await clock.advance(120)
    (event,) = await written(client, broadcaster, SERIES)
    assert event["series"]["count"] > 10


async def test_broadcaster_has_a_timer_only_while_there_are_series(client):
    clock = FakeClock()
    broadcaster = EventBroadcaster(client, clock=clock, dice=random.Random(1))
    task = asyncio.create_task(broadcaster.run())
    await clock.advance(0.1)
    recorder = broadcaster.series_recorder("tester", "tester-1")
    recorder.event(OBJ, "Normal", "Done", "Doing", "it is done")
    await written(client, broadcaster, SERIES)
    assert clock.waiting == 0
    recorder.event(OBJ, "Normal", "Done", "Doing", "it is done")
    await written(client, broadcaster, SERIES)
    assert clock.waiting == 1
    await clock.advance(721)
    assert clock.waiting == 0
    task.cancel()
    await asyncio.wait([task])


async def test_series_recorder_finishes_single_events_at_ends_of_periods(client, broadcaster, clock):
    recorder = broadcaster.series_recorder("example.com/tester", "tester-1")
    recorder.event(OBJ, "Normal", "Scheduled", "Binding", "bound")
    await clock.advance(700)  # its six minutes have passed, but the second period has not
    recorder.event(OBJ, "Normal", "Scheduled", "Binding", "bound")
    (event,) = await written(client, broadcaster, SERIES)
    assert event["series"]["count"] == 2
    await clock.advance(3000)
    assert await record_and_read_new(recorder, client, broadcaster) == 2
