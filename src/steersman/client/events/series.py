"""Deduplication of events.k8s.io/v1 events into series (KEP-383). Pure: callers pass the time."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import format_micro_time

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.trees import Tree

Key = tuple[str, ...]

#: A series without an event for this long is finished.
FINISH_SECONDS: Final = 6 * 60.0
#: Interval of writes of a running series.
REFRESH_SECONDS: Final = 30 * 60.0
#: Bound of cached series; the least recently used one is evicted.
SERIES_MAX: Final = 4096


@dataclass(slots=True)
class _Running:
    event: Tree
    last_at: float


class SeriesCache:
    """Events that may still repeat (upstream: ``eventBroadcasterImpl.eventCache``)."""

    def __init__(self) -> None:
        #: Least recently observed first.
        self._running: OrderedDict[Key, _Running] = OrderedDict()
        #: Keys of those that have repeated.
        self._series: set[Key] = set()

    def __len__(self) -> int:
        return len(self._running)

    @property
    def has_series(self) -> bool:
        """True if an event has repeated that may repeat again."""
        return bool(self._series)

    def observe(self, event: Tree, *, now: datetime, elapsed_seconds: float) -> Tree | None:
        """Return the event to send, new or with the start of a series; None if the event is only counted."""
        key = series_key(event)
        running = self._running.get(key)
        if running is None:
            self._running[key] = _Running(event, elapsed_seconds)
            if len(self._running) > SERIES_MAX:
                self._series.discard(self._running.popitem(last=False)[0])
            return event
        self._running.move_to_end(key)
        running.last_at = elapsed_seconds
        series = running.event.get("series")
        # A series starts with the second isomorphic event.
        count = 2 if series is None else series["count"] + 1
        self._series.add(key)
        running.event = {**running.event, "series": {"count": count, "lastObservedTime": format_micro_time(now)}}
        return running.event if series is None else None

    def written(self, event: Tree) -> None:
        """Record the event as stored by the server; later counts are kept."""
        running = self._running.get(series_key(event))
        if running is not None:
            series = running.event.get("series")
            running.event = event if series is None else {**event, "series": series}

    def finish(self, *, elapsed_seconds: float) -> list[Tree]:
        """Remove events without repetition for ``FINISH_SECONDS``.

        Return the series among them, to be written a last time.
        """
        finished: list[Tree] = []
        while self._running:
            key, running = next(iter(self._running.items()))
            if elapsed_seconds - running.last_at <= FINISH_SECONDS:
                break
            del self._running[key]
            self._series.discard(key)
            if running.event.get("series") is not None:
                finished.append(running.event)
        return finished

    def refresh(self) -> list[Tree]:
        """Return the running series, to be written again so that the server's copies do not expire."""
        return [running.event for running in self._running.values() if running.event.get("series") is not None]


def series_key(event: Tree) -> Key:
    """Return the key of isomorphic events."""
    names = ("type", "action", "reason", "reportingController", "reportingInstance")
    own = tuple(event.get(name, "") for name in names)
    return (*own, *_reference_key(event["regarding"]), *_reference_key(event.get("related") or {}))


def _reference_key(reference: Tree) -> Key:
    names = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return tuple(reference.get(name, "") for name in names)
