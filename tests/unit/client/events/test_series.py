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


def test_observe_returns_the_first_event(cache):
    assert observe(cache, event()) == event()


def test_observe_starts_a_series_with_the_second_event(cache):
    observe(cache, event("one"))
    assert observe(cache, event("two")) == event("one", series={"count": 2, "lastObservedTime": STAMP})


def test_observe_only_counts_further_events(cache):
    for _ in range(2):
        observe(cache, event())
    assert observe(cache, event()) is None
    assert [one["series"]["count"] for one in cache.refresh()] == [3]


def test_observe_returns_events_that_differ_in_more_than_their_note(cache):
    observe(cache, event())
    other = event(related={"kind": "Node", "name": "n"})
    assert observe(cache, other) == other


def test_written_keeps_the_stored_event_and_later_counts(cache):
    observe(cache, event())
    observe(cache, event())
    observe(cache, event())
    cache.written(event(deprecatedCount=7))
    (running,) = cache.refresh()
    assert (running["deprecatedCount"], running["series"]["count"]) == (7, 3)
    cache.written(event(action="unknown"))
    assert len(cache) == 1


def test_finish_returns_series_without_event_for_six_minutes(cache):
    observe(cache, event(reason="single"), at=0)
    observe(cache, event(), at=0)
    observe(cache, event(), at=100)
    assert cache.finish(elapsed_seconds=400) == []
    assert len(cache) == 1
    assert [one["series"]["count"] for one in cache.finish(elapsed_seconds=461)] == [2]
    assert len(cache) == 0


def test_has_series_while_a_repeated_event_may_repeat(cache, monkeypatch):
    monkeypatch.setattr(series, "SERIES_MAX", 1)
    observe(cache, event(), at=0)
    assert not cache.has_series
    observe(cache, event(), at=0)
    assert cache.has_series
    cache.finish(elapsed_seconds=361)
    assert not cache.has_series
    observe(cache, event(), at=400)
    observe(cache, event(), at=400)
    observe(cache, event(reason="other"), at=400)
    assert not cache.has_series


def test_series_cache_is_bounded(cache, monkeypatch):
    monkeypatch.setattr(series, "SERIES_MAX", 2)
    for reason in "abc":
        observe(cache, event(reason=reason))
    assert len(cache) == 2
    assert observe(cache, event(reason="a")) == event(reason="a")
