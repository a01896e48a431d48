from datetime import UTC, datetime

import pytest

from steersman.client.events import series
from steersman.client.events.series import SeriesCache

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STAMP = "2026-01-01T00:00:00.000000Z"


def event(note="a note", **more):
    return {
        "metadata": {"name": f"pod.{note}"}, "regarding": {"kind": "Pod", "name": "a"}, "type": "Normal",
        "reason": "Scheduled", "action": "Binding", "note": note, **more,
    }  # fmt: skip


@pytest.fixture
def cache():
    return SeriesCache()


def observe(cache, one, at=0.0):
    return cache.observe(one, now=NOW, elapsed_seconds=at)


def test_a_first_event_is_sent_as_it_is(cache):
    assert observe(cache, event()) == event()


def test_the_second_begins_a_series_in_the_first(cache):
    observe(cache, event("one"))
    assert observe(cache, event("two")) == event("one", series={"count": 2, "lastObservedTime": STAMP})


def test_further_ones_only_count(cache):
    for _ in range(2):
        observe(cache, event())
    assert observe(cache, event()) is None
    assert [one["series"]["count"] for one in cache.refresh()] == [3]


def test_events_that_differ_in_more_than_their_note_are_told_apart(cache):
    observe(cache, event())
    other = event(related={"kind": "Node", "name": "n"})
    assert observe(cache, other) == other


def test_what_the_server_stored_is_kept_with_what_was_counted_since(cache):
    observe(cache, event())
    observe(cache, event())
    observe(cache, event())
    cache.written(event(deprecatedCount=7))
    (running,) = cache.refresh()
    assert (running["deprecatedCount"], running["series"]["count"]) == (7, 3)
    cache.written(event(action="unknown"))
    assert len(cache) == 1


def test_a_series_that_saw_nothing_for_six_minutes_is_sent_a_last_time(cache):
    observe(cache, event(reason="single"), at=0)
    observe(cache, event(), at=0)
    observe(cache, event(), at=100)
    assert cache.finish(elapsed_seconds=400) == []
    assert len(cache) == 1
    assert [one["series"]["count"] for one in cache.finish(elapsed_seconds=461)] == [2]
    assert len(cache) == 0


def test_there_is_a_bound(cache, monkeypatch):
    monkeypatch.setattr(series, "SERIES_MAX", 2)
    for reason in "abc":
        observe(cache, event(reason=reason))
    assert len(cache) == 2
    assert observe(cache, event(reason="a")) == event(reason="a")
