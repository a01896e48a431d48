"""Ephemeral in-memory store with bounded history."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from steersman.storage.dispatch import Dispatcher, Watcher
from steersman.storage.dump import StoreDump
from steersman.storage.keys import SquashedPrefixes, prefix_end
from steersman.storage.leases import LeaseTable, random_lease_id
from steersman.storage.retention import Retention
from steersman.storage.revision_waiters import RevisionWaiters
from steersman.storage.sorted_keys import SortedKeys
from steersman.storage.store import (
    Compacted,
    Conflict,
    Delete,
    Event,
    FutureRevision,
    KeyValue,
    LeaseNotFound,
    Put,
    Range,
    Unavailable,
)
from steersman.storage.transaction import CheckFailedError, changes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.storage.store import Batch, Op, StoreError, Subscription

#: Approximate size of a history entry without its value.
_ENTRY_BYTES = 250


class Displaced(msgspec.Struct, frozen=True, gc=False):
    """State replaced by a write; undoing the entries from the newest backwards reconstructs each revision."""

    #: Revision of the write.
    revision: int
    key: str
    #: The key before the write; None when it did not exist.
    before: KeyValue | None
    #: True if the write removed the key.
    removed: bool

    @property
    def size_bytes(self) -> int:
        return _ENTRY_BYTES + (len(self.before.value) if self.before is not None else 0)


class MemoryStore:
    """In-memory ``Store``: durable only within the process. Also the test double."""

    def __init__(
        self,
        *,
        clock: Clock,
        history_retention_seconds: float = 300.0,
        history_max_bytes: int = 64 << 20,
        squash_prefixes: Iterable[str] = (),
        new_lease_id: Callable[[], int] = random_lease_id,
    ) -> None:
        self._clock = clock
        self._present: dict[str, KeyValue] = {}
        #: Sorted keys of ``_present``.
        self._keys = SortedKeys()
        #: Replaced states, oldest first, all above ``_compact_revision``.
        self._history: deque[Displaced] = deque()
        self._history_bytes = 0
        self._history_max_bytes = history_max_bytes
        self._squashed = SquashedPrefixes(squash_prefixes)
        self._retention = Retention(retention_seconds=history_retention_seconds, now=clock.monotonic(), revision=0)
        self._revision = 0
        self._compact_revision = 0
        self._dispatcher = Dispatcher()
        self._new_lease_id = new_lease_id
        self._leases = LeaseTable(clock, on_expired=self._end_lease)
        self._waiters = RevisionWaiters(clock)
        self._closed = False

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def revision(self) -> int:
        return self._revision

    @property
    def compact_revision(self) -> int:
        self._retire()  # history expires without writes, too
        return self._compact_revision

    async def current_revision(self) -> int:
        self._check_open()
        return self._revision

    async def reached(self, revision: int, *, seconds: float) -> bool:
        if revision > self._revision:
            await self._waiters.wait(revision, seconds=seconds)
        return revision <= self._revision

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        self._check_readable(key, revision)
        if not revision or revision == self._revision:
            return self._present.get(key)
        return self._changed_since(revision, key, exact=True).get(key, self._present.get(key))

    async def range(
        self, prefix: str, *, start_after: str = "", limit: int = 0, revision: int = 0, keys_only: bool = False
    ) -> Range:
        self._check_readable(prefix, revision)
        keys = self._keys_from(prefix, start_after)
        state: Callable[[str], KeyValue | None] = self._present.get
        if revision and revision < self._revision:
            past = self._changed_since(revision, prefix)
            keys = sorted(
                [key for key in keys if key not in past]
                + [key for key, kv in past.items() if kv is not None and key > start_after]
            )
            state = {**{key: self._present[key] for key in keys if key not in past}, **past}.get
        chosen = keys[:limit] if limit else keys
        kvs = [kv for key in chosen if (kv := state(key)) is not None]
        if keys_only:
            kvs = [msgspec.structs.replace(kv, value=b"") for kv in kvs]
        return Range(kvs, self._revision, more=len(keys) > len(chosen), count=len(keys))

    async def txn(self, ops: Sequence[Op]) -> int:
        self._check_open()
        try:
            changes = changes_of(ops, self._present)
        except CheckFailedError as unmet:
            raise Conflict(unmet.key, self._present.get(unmet.key)) from None
        for op in changes:
            if type(op) is Put and op.lease_id and op.lease_id not in self._leases:
                raise LeaseNotFound(f"lease {op.lease_id} does not exist")
        self._apply(changes)
        return self._revision

    async def watch(
        self, prefix: str, sink: Callable[[Batch], None], *, after_revision: int, on_lost: Callable[[StoreError], None]
    ) -> Subscription:
        if not prefix.endswith("/"):
            raise ValueError("a watched prefix must end in '/'")
        self._check_open()
        if after_revision < self._compact_revision:
            raise Compacted(after_revision, self._compact_revision)
        watcher = Watcher(self._dispatcher, prefix, sink=sink, after_revision=after_revision, on_lost=on_lost)
        self._dispatcher.add(watcher)
        watcher.send(self._events_after(after_revision, prefix), revision=self._revision)
        return watcher

    async def compact(self, revision: int) -> None:
        self._check_open()
        if revision > self._revision:
            raise FutureRevision(revision, self._revision)
        self._forget(revision)

    async def grant_lease(self, ttl_seconds: int, *, lease_id: int = 0) -> int:
        self._check_open()
        lease_id = lease_id or self._new_lease_id()
        self._leases.check_new(lease_id, ttl_seconds=ttl_seconds)
        self._leases.add(lease_id, ttl_seconds=ttl_seconds, remaining_seconds=ttl_seconds)
        return lease_id

    async def keep_alive(self, lease_id: int) -> None:
        self._check_open()
        self._leases.renew(lease_id)

    async def revoke_lease(self, lease_id: int) -> None:
        self._check_open()
        self._leases.get(lease_id)
        self._end_lease(lease_id)

    async def check_writable(self) -> None:
        self._check_open()

    async def size_bytes(self) -> int:
        self._check_open()
        return self._history_bytes + sum(_ENTRY_BYTES + len(kv.value) for kv in self._present.values())

    def dump(self) -> StoreDump:
        """Return the current state without its history. Costs one copy of a list; values are shared."""
        self._check_open()
        leases = [
            (lease.lease_id, lease.ttl_seconds, self._leases.remaining_seconds(lease))
            for lease in self._leases
            if not lease.ending
        ]
        return StoreDump(self._revision, list(self._present.values()), leases)

    def load(self, dump: StoreDump) -> None:
        """Replace the state by a dump, with its revisions of keys; all watches end with ``Compacted``.

        The store's revision only grows: it becomes that of the dump in a store without writes, otherwise one above both.
        Earlier history is dropped.
        """
        self._check_open()
        self._revision = max(self._revision, dump.revision) + (1 if self._revision else 0)
        self._present = {kv.key: kv for kv in dump.rows}
        self._keys = SortedKeys(sorted(self._present))
        self._forget(self._revision)
        self._leases.close()
        self._leases = LeaseTable(self._clock, on_expired=self._end_lease)
        for lease_id, ttl_seconds, remaining_seconds in dump.leases:
            self._leases.add(lease_id, ttl_seconds=ttl_seconds, remaining_seconds=remaining_seconds)
        for kv in dump.rows:
            self._leases.move(kv.key, before=0, after=kv.lease_id)
        self._dispatcher.close(Compacted(self._revision - 1, self._revision))

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._leases.close()
        self._waiters.resolve_all()
        self._dispatcher.close(Unavailable("the store is closed"))

    # Checks.

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the store is closed")

    def _check_readable(self, prefix: str, revision: int) -> None:
        self._check_open()
        if revision > self._revision:
            raise FutureRevision(revision, self._revision)
        oldest = max(self._compact_revision, self._squashed.compact_revision(prefix))
        if revision and revision < oldest:
            raise Compacted(revision, oldest)

    # Writing.

    def _apply(self, changes: Sequence[Put | Delete]) -> None:
        """Apply decided changes and notify the watchers."""
        if not changes:
            return
        events = []
        for op in changes:
            self._revision += 1
            events.append(self._put(op) if type(op) is Put else self._remove(op.key))
        self._retire()
        self._dispatcher.deliver(events, revision=self._revision)
        self._waiters.resolve(self._revision)

    def _put(self, op: Put) -> Event:
        before = self._present.get(op.key)
        create_revision = self._revision if before is None else before.create_revision
        key = op.key if before is None else before.key  # share the existing string
        self._present[key] = KeyValue(key, op.value, create_revision, self._revision, op.lease_id)
        if before is None:
            self._keys.add(key)
        self._leases.move(key, before=0 if before is None else before.lease_id, after=op.lease_id)
        if before is not None and self._squashed.matches(key):
            self._squashed.overwritten(key, self._revision)
        else:
            self._record_displaced(Displaced(self._revision, key, before, removed=False))
        return Event(key, op.value, create_revision, self._revision)

    def _remove(self, key: str) -> Event:
        before = self._present.pop(key)
        self._keys.remove(key)
        self._leases.move(key, before=before.lease_id, after=0)
        self._record_displaced(Displaced(self._revision, before.key, before, removed=True))
        return Event(before.key, None, before.create_revision, self._revision)

    def _end_lease(self, lease_id: int) -> None:
        keys = sorted(self._leases.get(lease_id).keys)
        self._leases.remove(lease_id)
        self._apply([Delete(key) for key in keys])

    # History.

    def _record_displaced(self, displaced: Displaced) -> None:
        self._history.append(displaced)
        self._history_bytes += displaced.size_bytes

    def _retire(self) -> None:
        """Drop history beyond the retention time or size."""
        revision = self._retention.expired(now=self._clock.monotonic(), revision=self._revision)
        excess = self._history_bytes - self._history_max_bytes
        for displaced in self._history if excess > 0 else ():
            if excess <= 0:
                break
            excess -= displaced.size_bytes
            revision = max(revision, displaced.revision)
        self._forget(revision)

    def _forget(self, revision: int) -> None:
        self._compact_revision = max(self._compact_revision, revision)
        while self._history and self._history[0].revision <= revision:
            self._history_bytes -= self._history.popleft().size_bytes

    def _changed_since(self, revision: int, prefix: str, *, exact: bool = False) -> dict[str, KeyValue | None]:
        """Return the keys under ``prefix`` (or that key) written after ``revision``, as they were at ``revision``."""
        past: dict[str, KeyValue | None] = {}
        for displaced in reversed(self._history):
            if displaced.revision <= revision:
                break
            if displaced.key == prefix or (not exact and displaced.key.startswith(prefix)):
                past[displaced.key] = displaced.before
        return past

    def _events_after(self, revision: int, prefix: str) -> list[Event]:
        """Return the events under ``prefix`` after ``revision``: retained states and removals."""
        events: list[Event] = []
        touched: set[str] = set()
        for squashed in self._squashed.prefixes:
            touched.update(key for key in self._keys_from(squashed, "") if key.startswith(prefix))
        for displaced in reversed(self._history):
            if displaced.revision <= revision:
                break
            if not displaced.key.startswith(prefix):
                continue
            touched.add(displaced.key)
            if displaced.removed and displaced.before is not None:
                before = displaced.before
                events.append(Event(before.key, None, before.create_revision, displaced.revision))
            if displaced.before is not None and displaced.before.mod_revision > revision:
                events.append(_event(displaced.before))
        events += [
            _event(kv) for key in touched if (kv := self._present.get(key)) is not None and kv.mod_revision > revision
        ]
        events.sort(key=lambda event: (event.mod_revision, event.key))
        return events

    def _keys_from(self, prefix: str, start_after: str) -> list[str]:
        after = f"{start_after}\0" if start_after else ""  # the first key that can follow it
        return self._keys.between(max(prefix, after), prefix_end(prefix))


def _event(kv: KeyValue) -> Event:
    return Event(kv.key, kv.value, kv.create_revision, kv.mod_revision)
