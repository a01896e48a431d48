from datetime import UTC, datetime, timedelta

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.asynckit.ratelimit import TokenBucket
from steersman.client.events.correlator import SPAM_BURST, SPAM_RATE_PER_SECOND, EventCorrelator

START = datetime(2026, 1, 1, tzinfo=UTC)


class Recording:
    """Feeds a correlator; time is advanced manually."""

    def __init__(self):
        self.clock = FakeClock(START)
        self.correlator = EventCorrelator(
            make_bucket=lambda: TokenBucket(SPAM_RATE_PER_SECOND, SPAM_BURST, clock=self.clock)
        )
        self.number = 0

    def record(self, message="it happened", *, obj="pod", reason="Happened", written=True):
        self.number += 1
        stamp = f"{self.clock.now():%Y-%m-%dT%H:%M:%SZ}"
        event = {
            "metadata": {"name": f"{obj}.{self.number}", "namespace": "ns"},
            "involvedObject": {"kind": "Pod", "name": obj, "namespace": "ns", "uid": obj},
            "source": {"component": "test"}, "type": "Normal", "reason": reason, "message": message,
            "firstTimestamp": stamp, "lastTimestamp": stamp, "count": 1,
        }  # fmt: skip
        result = self.correlator.correlate(event, now=self.clock.now(), elapsed_seconds=self.clock.monotonic())
        if result is not None and written:
            stored = {**result.event, "metadata": {**result.event["metadata"], "resourceVersion": str(self.number)}}
            self.correlator.written(result.key, stored)
        return result


@pytest.fixture
def recording():
    return Recording()


def test_correlate_creates_the_first_event(recording):
    record = recording.record()
    assert record.patch is None
    assert (record.event["count"], record.event["metadata"]["name"]) == (1, "pod.1")


async def test_correlate_patches_the_count_of_a_repeated_event(recording):
    recording.record()
    await recording.clock.advance(5)
    record = recording.record()
    assert record.patch == {"count": 2, "lastTimestamp": "2026-01-01T00:00:05Z", "message": "it happened"}
    assert record.event["metadata"] == {"name": "pod.1", "namespace": "ns", "resourceVersion": "1"}
    assert record.event["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert recording.record().patch["count"] == 3


def test_correlate_creates_events_that_differ(recording):
    recording.record()
    others = [recording.record("other"), recording.record(reason="Other"), recording.record(obj="other")]
    assert [other.patch for other in others] == [None, None, None]


def test_correlate_aggregates_from_the_tenth_distinct_message(recording):
    result = [recording.record(f"message {n}") for n in range(12)]
    assert [one.event["message"] for one in result[8:10]] == [
        "message 8",
        "(combined from similar events): message 9",
    ]
    assert result[9].patch is None
    assert result[10].patch["count"] == 2
    assert result[11].patch["message"] == "(combined from similar events): message 11"


async def test_correlate_resets_a_group_after_ten_minutes(recording):
    for n in range(10):
        recording.record(f"message {n}")
    await recording.clock.advance(601)
    assert recording.record("message 10").event["message"] == "message 10"


async def test_correlate_limits_events_per_object_to_a_burst_and_one_per_five_minutes(recording):
    result = [recording.record() for _ in range(30)]
    assert [one is not None for one in result] == [True] * 25 + [False] * 5
    assert recording.record(obj="quiet") is not None
    await recording.clock.advance(timedelta(minutes=5).total_seconds())
    assert [recording.record() is not None for _ in range(2)] == [True, False]


def test_correlate_counts_rate_limited_events(recording):
    for _ in range(30):
        recording.record()
    recording.correlator._buckets = type(recording.correlator._buckets)(10)
    assert recording.record().patch["count"] == 31
