"""Event broadcaster and recorders of both event APIs. Recording returns at once; errors are logged, never raised."""

from __future__ import annotations

import logging
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.timestamps import format_micro_time, format_time
from steersman.asynckit.clock import RealClock
from steersman.asynckit.ratelimit import TokenBucket
from steersman.client.events.correlator import SPAM_BURST, SPAM_RATE_PER_SECOND, Correlated, EventCorrelator
from steersman.client.events.reference import event_namespace, object_reference
from steersman.client.events.series import FINISH_SECONDS, REFRESH_SECONDS, SeriesCache
from steersman.client.events.sink import EventSink

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock, Timer
    from steersman.client import Client


_log = logging.getLogger(__name__)

_TYPES: Final = ("Normal", "Warning")
CORE: Final = "v1"
EVENTS_API: Final = "events.k8s.io/v1"
#: Limit of the API for ``note`` and ``message``; longer texts are truncated.
NOTE_BYTES_MAX: Final = 1024
_PERIODS_PER_REFRESH: Final = round(REFRESH_SECONDS / FINISH_SECONDS)


class EventBroadcaster:
    """Single writer of the events of a process, and factory of recorders.

    ``run`` must be running for events to be written.
    """

    def __init__(self, client: Client, *, clock: Clock | None = None, dice: Random | None = None) -> None:
        self._clock = clock or RealClock()
        self._sink = EventSink(client, clock=self._clock, dice=dice or Random())  # noqa: S311 — spreads load
        self._correlator = EventCorrelator(make_bucket=self._bucket)
        self._series = SeriesCache()
        self._last_nanos = 0
        #: Start of the periods in which series are finished; None unless ``run`` is running.
        self._periods_since: float | None = None
        #: Periods whose end has been handled.
        self._periods = 0
        self._timer: Timer | None = None

    def recorder(self, component: str, *, host: str = "") -> EventRecorder:
        """Return a recorder of core/v1 events, for controllers."""
        return EventRecorder(self, component, host)

    def series_recorder(self, controller: str, instance: str) -> SeriesRecorder:
        """Return a recorder of events.k8s.io/v1 events, for the scheduler."""
        return SeriesRecorder(self, controller, instance)

    async def run(self) -> None:
        """Write events until cancelled; finish and refresh series meanwhile."""
        self._periods_since, self._periods = self._clock.monotonic(), 0
        self._schedule_maintenance()
        try:
            await self._sink.run()
        finally:
            self._periods_since = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    async def flush(self) -> None:
        """Wait until all recorded events are written or dropped; ``run`` must be running."""
        await self._sink.flush()

    @property
    def clock(self) -> Clock:
        return self._clock

    def event_base(self, api_version: str, reference: Tree) -> Tree:
        """Return apiVersion, kind and metadata of an event.

        Its name is the object's with the hexadecimal time in nanoseconds.

        Names are unique even for events of the same instant. Upstream: ``record.recorderImpl.makeEvent``.
        """
        nanos = int(self._clock.now().timestamp() * 1_000_000) * 1000
        self._last_nanos = nanos = max(nanos, self._last_nanos + 1)
        metadata = {"name": f"{reference.get('name', '')}.{nanos:x}", "namespace": event_namespace(reference)}
        return {"apiVersion": api_version, "kind": "Event", "metadata": metadata}

    def record_core(self, event: Tree) -> None:
        """Correlate and submit a core/v1 event."""
        correlated = self._correlator.correlate(event, now=self._clock.now(), elapsed_seconds=self._clock.monotonic())
        if correlated is None:
            _log.debug("event about %s is held back: too many", event["involvedObject"].get("name"))
            return
        self._sink.submit(lambda: self._write_core(correlated))

    def record_series(self, event: Tree) -> None:
        """Count or submit an events.k8s.io/v1 event."""
        self._end_missed_periods()
        to_send = self._series.observe(event, now=self._clock.now(), elapsed_seconds=self._clock.monotonic())
        self._schedule_maintenance()
        if to_send is not None:
            self._submit_series(to_send)

    async def _write_core(self, correlated: Correlated) -> None:
        stored = await self._sink.write(CORE, correlated.event, correlated.patch)
        if stored is not None:
            self._correlator.written(correlated.key, stored)

    def _submit_series(self, event: Tree) -> None:
        series = event.get("series")
        patch = None if series is None else {"series": series}

        async def write() -> None:
            stored = await self._sink.write(EVENTS_API, event, patch)
            if stored is not None:
                self._series.written(stored)

        self._sink.submit(write)

    def _schedule_maintenance(self) -> None:
        """Set a timer for the end of the current period if there are series."""
        if self._timer is not None or self._periods_since is None or not self._series.has_series:
            return
        period = self._periods + 1
        due = self._periods_since + period * FINISH_SECONDS
        self._timer = self._clock.timer(due - self._clock.monotonic(), partial(self._maintain_series, period))

    def _maintain_series(self, period: int) -> None:
        self._timer = None
        self._end_periods(period)
        self._schedule_maintenance()

    def _end_missed_periods(self) -> None:
        """Handle the end of the last period if there was no series, and thus no timer, then."""
        if self._periods_since is not None:
            self._end_periods(int((self._clock.monotonic() - self._periods_since) // FINISH_SECONDS))

    def _end_periods(self, period: int) -> None:
        """Finish and refresh series as at the end of a period, unless that was done."""
        if self._periods_since is None or period <= self._periods:
            return
        self._periods = period
        for event in self._series.finish(elapsed_seconds=self._periods_since + period * FINISH_SECONDS):
            self._submit_series(event)
        if period % _PERIODS_PER_REFRESH == 0:
            for event in self._series.refresh():
                self._submit_series(event)

    def _bucket(self) -> TokenBucket:
        return TokenBucket(SPAM_RATE_PER_SECOND, SPAM_BURST, clock=self._clock)


class EventRecorder:
    """Recorder of core/v1 events of one component. Upstream: ``record.EventRecorder``."""

    def __init__(self, broadcaster: EventBroadcaster, component: str, host: str) -> None:
        self._broadcaster = broadcaster
        self._component = component
        self._host = host

    def on_host(self, host: str) -> EventRecorder:
        """Return a recorder of the same component on another host."""
        return EventRecorder(self._broadcaster, self._component, host)

    def event(self, obj: Any, type_: str, reason: str, message: str, *, field_path: str = "") -> None:
        """Record an event.

        ``type_`` is ``Normal`` or ``Warning``, ``reason`` a CamelCase word, ``message`` is for people.

        ``obj``: a typed object, a tree with apiVersion and kind, or an ``ObjectReference`` as a tree.
        """
        reference = _reference(obj, type_, reason, field_path)
        if reference is None:
            return
        stamp = format_time(self._broadcaster.clock.now())
        source = {"component": self._component} | ({"host": self._host} if self._host else {})
        event = {
            **self._broadcaster.event_base(CORE, reference),
            "involvedObject": reference,
            "reason": reason,
            "message": _truncate(message),
            "source": source,
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
            "type": type_,
            "reportingComponent": self._component,
        }
        if self._host:
            event["reportingInstance"] = self._host
        self._broadcaster.record_core(event)


class SeriesRecorder:
    """Recorder of events.k8s.io/v1 events of one controller instance. Upstream: ``events.EventRecorder``."""

    def __init__(self, broadcaster: EventBroadcaster, controller: str, instance: str) -> None:
        self._broadcaster = broadcaster
        self._controller = controller
        self._instance = instance

    def event(self, regarding: Any, type_: str, reason: str, action: str, note: str, *, related: Any = None) -> None:
        """Record an event. ``action``: the action taken or failed, as one word; ``related``: a secondary object."""
        reference = _reference(regarding, type_, reason, "")
        if reference is None:
            return
        event = {
            **self._broadcaster.event_base(EVENTS_API, reference),
            "eventTime": format_micro_time(self._broadcaster.clock.now()),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": reference,
            "note": _truncate(note),
            "type": type_,
        }
        if related is not None:
            event["related"] = object_reference(related)
        self._broadcaster.record_series(event)


def _reference(obj: Any, type_: str, reason: str, field_path: str) -> Tree | None:
    """Return the object reference; None, with a log message, for an invalid event."""
    if type_ not in _TYPES:
        _log.error("unsupported event type %r (reason %s)", type_, reason)
        return None
    try:
        return object_reference(obj, field_path=field_path)
    except (LookupError, ValueError) as error:
        _log.error("could not construct reference, will not report event %s: %s", reason, error)
        return None


def _truncate(text: str) -> str:
    return text.encode()[:NOTE_BYTES_MAX].decode(errors="ignore")
