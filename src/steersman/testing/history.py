"""History of the objects of an embedded cluster: each version, its writer, and the changed fields."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.testing.clock import TimeText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.asynckit.clock import Clock
    from steersman.storage.store import Batch, Event, Store, StoreError, Subscription
    from steersman.testing.trace import RequestRecord

#: Bounds of the history of all objects: versions, and bytes of their values.
VERSIONS_MAX: Final = 50_000
BYTES_MAX: Final = 64 << 20
#: Number of writes whose requests are stored.
_WRITES_MAX: Final = VERSIONS_MAX
_PREFIX: Final = "/registry/"
#: Heartbeats, which are not part of the history.
UNRECORDED_PREFIXES: Final = ("/registry/leases/", "/registry/masterleases/")
_NODES: Final = "/registry/minions/"
#: Fields that a node status update without other changes updates.
_REPORT_TIMES: Final = re.compile(rb'"(lastHeartbeatTime|time)":"[^"]*"')
#: Fields that change with every write.
_UNSHOWN: Final = (("metadata", "resourceVersion"), ("metadata", "managedFields"))
_VALUE_LENGTH_MAX: Final = 80


class Change(msgspec.Struct, frozen=True):
    """Committed change of a key; a deletion has no value."""

    key: str
    revision: int
    value: bytes | None
    #: Time of the cluster's clock, in RFC 3339.
    time: str


class Version(msgspec.Struct, frozen=True):
    """One version of an object."""

    #: ``resourceVersion``; for a deletion the revision of the store.
    revision: int
    time: str
    #: ``ADDED``, ``MODIFIED`` or ``DELETED``.
    type: str
    #: The object; for a deletion its last state.
    object: dict[str, Any]
    #: Changed fields: ``spec.replicas: 1 → 2``.
    diff: list[str]
    #: Empty for writes without a request, e.g. the expiry of a lease.
    user: str = ""
    user_agent: str = ""
    field_manager: str = ""
    #: Controller, key and cause of the reconcile that wrote it.
    reconcile: str = ""

    def __str__(self) -> str:
        text = f"{self.time} {self.type} {self.revision} by {self.user_agent or 'the store'}"
        if self.reconcile:
            text += f", reconcile of {self.reconcile}"
        return "\n".join([text, *(f"    {line}" for line in self.diff)])


class ObjectHistory:
    """Changes of all objects, oldest first, within bounds. ``follow`` must be called before the first write."""

    def __init__(self, clock: Clock) -> None:
        self._time_text: Final = TimeText(clock)
        self._changes: deque[Change] = deque()
        self._bytes = 0
        self._by_key: dict[str, deque[Change]] = {}
        self._writers: dict[int, RequestRecord] = {}
        self._subscription: Subscription | None = None
        #: Number of changes so far, except heartbeats.
        self.total = 0
        #: Number of changes except updates of an unchanged node status.
        self.total_news = 0
        #: Called with each change.
        self.on_change: Callable[[Change], None] = _ignore

    async def follow(self, store: Store) -> None:
        """Start recording the changes of a store. Idempotent."""
        if self._subscription is not None:
            return
        self._subscription = await store.watch(_PREFIX, self._apply, after_revision=store.revision, on_lost=self._lost)

    def _lost(self, error: StoreError) -> None:
        self._subscription = None

    def close(self) -> None:
        """Stop recording. Idempotent."""
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def committed(self, revisions: range, record: RequestRecord) -> None:
        """Record the request that committed revisions."""
        record.revisions.extend(revisions)
        for revision in revisions:
            self._writers[revision] = record
        while len(self._writers) > _WRITES_MAX:
            del self._writers[next(iter(self._writers))]

    def _apply(self, batch: Batch) -> None:
        now = self._time_text()
        for event in batch.events:
            if event.key.startswith(UNRECORDED_PREFIXES):
                continue
            change = Change(event.key, event.mod_revision, event.value, now)
            self.total += 1
            self.total_news += not self._is_report_without_news(event)
            self._changes.append(change)
            self._by_key.setdefault(event.key, deque()).append(change)
            self._bytes += len(event.value or b"")
            self.on_change(change)
        while len(self._changes) > VERSIONS_MAX or self._bytes > BYTES_MAX:
            self._drop_oldest()

    def _is_report_without_news(self, event: Event) -> bool:
        latest = self._by_key.get(event.key) if event.key.startswith(_NODES) else None
        if not latest or latest[-1].value is None or event.value is None:
            return False
        return _REPORT_TIMES.sub(b"", latest[-1].value) == _REPORT_TIMES.sub(b"", event.value)

    def _drop_oldest(self) -> None:
        oldest = self._changes.popleft()
        self._bytes -= len(oldest.value or b"")
        of_key = self._by_key[oldest.key]
        of_key.popleft()
        if not of_key:
            del self._by_key[oldest.key]

    def since(self, total: int) -> list[Change]:
        """Return the changes after the first ``total``, except those already dropped."""
        count = min(self.total - total, len(self._changes))
        return list(self._changes)[len(self._changes) - count :]

    def writer(self, revision: int) -> RequestRecord | None:
        """Return the request that committed a revision; None if unknown."""
        return self._writers.get(revision)

    def versions(self, key: str) -> list[Version]:
        """Return the recorded versions of an object by its key in the store, oldest first."""
        return list(self._versions(key))

    def _versions(self, key: str) -> Iterator[Version]:
        before: dict[str, Any] | None = None
        is_first = True
        for change in self._by_key.get(key, ()):
            after = None if change.value is None else decode(change.value, change.revision)
            kind = "DELETED" if after is None else "MODIFIED" if before is not None else "ADDED"
            diff = [] if after is None or (before is None and not is_first) else diff_of(before or {}, after)
            writer = self._writers.get(change.revision)
            yield Version(
                revision=change.revision,
                time=change.time,
                type=kind,
                object=after or before or {},
                diff=diff if before is not None else [],
                user=writer.user if writer else "",
                user_agent=writer.user_agent if writer else "",
                field_manager=_manager_of(after, before),
                reconcile=writer.reconcile if writer else "",
            )
            before, is_first = after, False

    def diff(self, revision: int) -> list[str]:
        """Return the changed fields of a revision; empty if it was dropped."""
        for change in reversed(self._changes):
            if change.revision == revision:
                return next(
                    (version.diff for version in self._versions(change.key) if version.revision == revision), []
                )
            if change.revision < revision:
                break
        return []


def decode(value: bytes, revision: int) -> dict[str, Any]:
    """Decode a stored object and set its resource version."""
    tree: dict[str, Any] = msgspec.json.decode(value)
    tree.setdefault("metadata", {})["resourceVersion"] = str(revision)
    return tree


def diff_of(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the changed fields of an object: ``spec.replicas: 1 → 2``."""
    return list(_diff((), before, after))


def _diff(path: tuple[str, ...], before: Any, after: Any) -> Iterator[str]:
    if before == after or path in _UNSHOWN:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from _diff((*path, key), before.get(key), after.get(key))
        return
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _diff((*path[:-1], f"{path[-1]}[{at}]"), old, new)
        return
    yield f"{'.'.join(path)}: {_shown(before)} → {_shown(after)}"


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _VALUE_LENGTH_MAX else f"{text[: _VALUE_LENGTH_MAX - 1]}…"


def _manager_of(after: dict[str, Any] | None, before: dict[str, Any] | None) -> str:
    """Return the manager of the newest entry of ``managedFields`` that the write has changed."""
    if after is None:
        return ""
    old = [] if before is None else before["metadata"].get("managedFields") or []
    changed = [entry for entry in after["metadata"].get("managedFields") or [] if entry not in old]
    newest = max(changed, key=lambda entry: entry.get("time") or "", default=None)
    return "" if newest is None else newest.get("manager", "")


def _ignore(change: Change) -> None:
    """Do nothing."""
