"""Many alike events.k8s.io/v1 events become one with a series (KEP-383). Pure: the time comes with each call."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.timestamps import format_micro_time

if TYPE_CHECKING:
    from datetime import datetime

Tree = dict[str, Any]
Key = tuple[str, ...]

#: A series that saw nothing for so long has ended.
FINISH_SECONDS: Final = 6 * 60.0
#: A running series' count is sent again so often.
REFRESH_SECONDS: Final = 30 * 60.0
#: Beyond this the series not used for longest is forgotten, and begins anew.
SERIES_MAX: Final = 4096


@dataclass(slots=True)
class _Running:
    event: Tree
    last_at: float


class SeriesCache:
    """Events that may still repeat."""

    def __init__(self) -> None:
        #: The one not seen for longest is first.
        self._running: OrderedDict[Key, _Running] = OrderedDict()

    def __len__(self) -> int:
        return len(self._running)

    def observe(self, event: Tree, *, now: datetime, elapsed_seconds: float) -> Tree | None:
        """What to send: a new event, or one whose series begins; None when it only counts."""
        key = series_key(event)
        running = self._running.get(key)
        if running is None:
            self._running[key] = _Running(event, elapsed_seconds)
            if len(self._running) > SERIES_MAX:
                self._running.popitem(last=False)
            return event
        self._running.move_to_end(key)
        running.last_at = elapsed_seconds
        series = running.event.get("series")
        # A series begins with the second event of its kind.
        count = 2 if series is None else series["count"] + 1
        running.event = {**running.event, "series": {"count": count, "lastObservedTime": format_micro_time(now)}}
        return running.event if series is None else None

    def written(self, event: Tree) -> None:
        """The server has stored ``event``; what was counted since stays."""
        running = self._running.get(series_key(event))
        if running is not None:
            series = running.event.get("series")
            running.event = event if series is None else {**event, "series": series}

    def finish(self, *, elapsed_seconds: float) -> list[Tree]:
        """Forget what saw nothing for ``FINISH_SECONDS``; those with a series are to be sent a last time."""
        ended: list[Tree] = []
        while self._running:
            key, running = next(iter(self._running.items()))
            if elapsed_seconds - running.last_at <= FINISH_SECONDS:
                break
            del self._running[key]
            if running.event.get("series") is not None:
                ended.append(running.event)
        return ended

    def refresh(self) -> list[Tree]:
        """The running series, to be sent again so that the server's copies do not expire."""
        return [running.event for running in self._running.values() if running.event.get("series") is not None]


def series_key(event: Tree) -> Key:
    """What must be equal for events to be the same."""
    names = ("type", "action", "reason", "reportingController", "reportingInstance")
    own = tuple(event.get(name, "") for name in names)
    return (*own, *_reference_key(event["regarding"]), *_reference_key(event.get("related") or {}))


def _reference_key(reference: Tree) -> Key:
    names = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return tuple(reference.get(name, "") for name in names)
