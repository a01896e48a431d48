"""Correlation of core/v1 events: aggregation, deduplication and spam filter.

Upstream: ``record.EventCorrelator``, with its constants. Pure: callers pass the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.timestamps import format_time
from steersman.client.events.lru import LruDict

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.ratelimit import TokenBucket


#: Capacity of each cache: sources, groups and events.
CACHE_ENTRIES_MAX: Final = 4096
#: From this number of distinct messages on, events of one group are aggregated …
AGGREGATE_MAX_EVENTS: Final = 10
#: … unless the group had no event for this long.
AGGREGATE_INTERVAL_SECONDS: Final = 600.0
#: Limit per source and object: a burst of 25 events, then one per five minutes.
SPAM_BURST: Final = 25
SPAM_RATE_PER_SECOND: Final = 1 / 300

_AGGREGATED_PREFIX: Final = "(combined from similar events): "

Key = tuple[str, ...]


class Correlated(NamedTuple):
    """Result of correlation."""

    #: Event to create, or the event to patch if ``patch`` is set.
    event: Tree
    #: Merge patch for the stored event; None: create it.
    patch: Tree | None
    #: Key of its cached state, see ``EventCorrelator.written``.
    key: Key


@dataclass(slots=True)
class _Group:
    """Events that differ only in their message (upstream: ``aggregateRecord``)."""

    last_at: float
    messages: dict[str, None] = field(default_factory=dict)


class _EventLog(NamedTuple):
    """State of a recorded event (upstream: ``eventLog``)."""

    name: str
    occurrences: int
    first_timestamp: str
    resource_version: str


class EventCorrelator:
    """Bounded caches of recorded events; an evicted event is treated as new."""

    def __init__(self, *, make_bucket: Callable[[], TokenBucket]) -> None:
        """``make_bucket`` returns a full token bucket for one source and object, see ``SPAM_BURST``."""
        self._make_bucket = make_bucket
        self._buckets: LruDict[Key, TokenBucket] = LruDict(CACHE_ENTRIES_MAX)
        self._groups: LruDict[Key, _Group] = LruDict(CACHE_ENTRIES_MAX)
        self._log: LruDict[Key, _EventLog] = LruDict(CACHE_ENTRIES_MAX)

    def correlate(self, event: Tree, *, now: datetime, elapsed_seconds: float) -> Correlated | None:
        """Return the event to create or patch; None if its object exceeded the rate limit.

        ``elapsed_seconds`` is a monotonic time, for the aggregation interval.
        """
        event, key = self._aggregate(event, now, elapsed_seconds)
        correlated = self._count(event, key, now)
        return correlated if self._allowed(event) else None

    def written(self, key: Key, event: Tree) -> None:
        """Record the event as stored by the server."""
        self._log.put(key, _state_of(event))

    def _aggregate(self, event: Tree, now: datetime, elapsed: float) -> tuple[Tree, Key]:
        group_key = _group_key(event)
        field_path = event["involvedObject"].get("fieldPath", "")
        own_key = (*group_key, field_path, event.get("message", ""))
        group = self._groups.get(group_key)
        if group is None or elapsed - group.last_at > AGGREGATE_INTERVAL_SECONDS:
            group = _Group(elapsed)
        group.last_at = elapsed
        group.messages[event.get("message", "")] = None
        self._groups.put(group_key, group)
        if len(group.messages) < AGGREGATE_MAX_EVENTS:
            return event, own_key
        group.messages.pop(next(iter(group.messages)))  # bounded: only the number of messages matters
        stamp = format_time(now)
        message = f"{_AGGREGATED_PREFIX}{event.get('message', '')}"
        return {**event, "message": message, "count": 1, "firstTimestamp": stamp, "lastTimestamp": stamp}, group_key

    def _count(self, event: Tree, key: Key, now: datetime) -> Correlated:
        logged = self._log.get(key)
        if logged is None:
            self._log.put(key, _state_of(event))
            return Correlated(event, None, key)
        metadata = {**event["metadata"], "name": logged.name, "resourceVersion": logged.resource_version}
        changed = {
            "count": logged.occurrences + 1,
            "lastTimestamp": format_time(now),
            "message": event.get("message", ""),
        }
        event = {**event, **changed, "metadata": metadata, "firstTimestamp": logged.first_timestamp}
        self._log.put(key, _state_of(event))
        return Correlated(event, changed, key)

    def _allowed(self, event: Tree) -> bool:
        source, regarding = event.get("source") or {}, event["involvedObject"]
        key = (source.get("component", ""), source.get("host", ""), *_object_key(regarding))
        bucket = self._buckets.get(key) or self._make_bucket()
        self._buckets.put(key, bucket)
        return bucket.try_take()


def _object_key(reference: Tree) -> Key:
    return tuple(reference.get(name, "") for name in ("kind", "namespace", "name", "uid", "apiVersion"))


def _group_key(event: Tree) -> Key:
    source = event.get("source") or {}
    own = tuple(event.get(name, "") for name in ("type", "reason", "reportingComponent", "reportingInstance"))
    return (source.get("component", ""), source.get("host", ""), *_object_key(event["involvedObject"]), *own)


def _state_of(event: Tree) -> _EventLog:
    metadata = event["metadata"]
    return _EventLog(
        name=metadata.get("name", ""),
        occurrences=event.get("count") or 1,
        first_timestamp=event.get("firstTimestamp") or "",
        resource_version=metadata.get("resourceVersion") or "",
    )
