"""Many alike core/v1 events become few: counted, combined, and those of one noisy object held back.

The rules and numbers are those of client-go's ``EventCorrelator``. Pure: the time comes with each call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.timestamps import format_time
from steersman.client.events.lru import LruDict

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from steersman.asynckit.ratelimit import TokenBucket

Tree = dict[str, Any]

#: Sources, groups and events that are remembered.
CACHE_ENTRIES_MAX: Final = 4096
#: So many different messages of one group are told apart, the next ones are combined …
AGGREGATE_MAX_EVENTS: Final = 10
#: … unless the group was silent for so long.
AGGREGATE_INTERVAL_SECONDS: Final = 600.0
#: One object's events from one source: 25 at once, then one in five minutes.
SPAM_BURST: Final = 25
SPAM_RATE_PER_SECOND: Final = 1 / 300

_COMBINED: Final = "(combined from similar events): "

Key = tuple[str, ...]


class Correlated(NamedTuple):
    """What to send of an event."""

    #: To be created; when ``patch`` is there, it is an event that was sent before.
    event: Tree
    #: A merge patch for the event as the server has it.
    patch: Tree | None
    #: Under which its state is remembered, see ``Correlator.written``.
    key: Key


@dataclass(slots=True)
class _Group:
    """Events that differ in their message only."""

    last_at: float
    messages: dict[str, None] = field(default_factory=dict)


class _Seen(NamedTuple):
    """An event that was sent."""

    name: str
    times: int
    first_timestamp: str
    resource_version: str


class Correlator:
    """Remembers what was sent, within bounds; forgotten events begin anew."""

    def __init__(self, *, make_bucket: Callable[[], TokenBucket]) -> None:
        """``make_bucket``: a full token bucket for one source and object, see ``SPAM_BURST``."""
        self._make_bucket = make_bucket
        self._buckets: LruDict[Key, TokenBucket] = LruDict(CACHE_ENTRIES_MAX)
        self._groups: LruDict[Key, _Group] = LruDict(CACHE_ENTRIES_MAX)
        self._seen: LruDict[Key, _Seen] = LruDict(CACHE_ENTRIES_MAX)

    def correlate(self, event: Tree, *, now: datetime, elapsed_seconds: float) -> Correlated | None:
        """What to send of ``event``; None when its object has been too noisy.

        ``elapsed_seconds`` is a clock that never goes back, for the silence of a group.
        """
        event, key = self._aggregate(event, now, elapsed_seconds)
        correlated = self._count(event, key, now)
        return correlated if self._allowed(event) else None

    def written(self, key: Key, event: Tree) -> None:
        """The server has stored ``event``."""
        self._seen.put(key, _state_of(event))

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
        group.messages.pop(next(iter(group.messages)))  # bounded: all that matters is how many there are
        stamp = format_time(now)
        message = f"{_COMBINED}{event.get('message', '')}"
        return {**event, "message": message, "count": 1, "firstTimestamp": stamp, "lastTimestamp": stamp}, group_key

    def _count(self, event: Tree, key: Key, now: datetime) -> Correlated:
        seen = self._seen.get(key)
        if seen is None:
            self._seen.put(key, _state_of(event))
            return Correlated(event, None, key)
        metadata = {**event["metadata"], "name": seen.name, "resourceVersion": seen.resource_version}
        changed = {"count": seen.times + 1, "lastTimestamp": format_time(now), "message": event.get("message", "")}
        event = {**event, **changed, "metadata": metadata, "firstTimestamp": seen.first_timestamp}
        self._seen.put(key, _state_of(event))
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


def _state_of(event: Tree) -> _Seen:
    metadata = event["metadata"]
    return _Seen(
        name=metadata.get("name", ""),
        times=event.get("count") or 1,
        first_timestamp=event.get("firstTimestamp") or "",
        resource_version=metadata.get("resourceVersion") or "",
    )
