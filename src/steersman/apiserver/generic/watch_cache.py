"""Watch cache of one resource: its encoded objects and recent changes, from which GET, LIST and WATCH are served.

Promises:

* A write that this server has answered is in the cache: stores call the sink before ``txn`` returns. Writes of other servers
  on a shared store are in it after ``wait_fresh``.
* Readers get lists of immutable entries, taken in one step: what happens later does not show in them.
* Memory is bounded by the objects themselves, the ring (see ``change_ring``) and one small record a watcher.
* A store watch that is lost ends all watches and refills the cache; until then readers wait. If history was lost, they
  end with 410.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import insort
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakValueDictionary

from steersman.apimachinery.errors import (
    bad_request,
    service_unavailable,
    too_large_resource_version,
    too_many_requests,
)
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.histogram import Histogram
from steersman.apimachinery.names import check_path_segment
from steersman.apiserver.generic.change_ring import Change, ChangeRing, EventType
from steersman.apiserver.generic.corrupt import corrupt_list, corrupt_object
from steersman.apiserver.generic.entry import stale
from steersman.apiserver.generic.storage_codec import UnreadableValueError
from steersman.apiserver.generic.wakeups import Wakeups
from steersman.storage.keys import prefix_end
from steersman.storage.sorted_keys import SortedKeys
from steersman.storage.store import Compacted, CorruptValue, StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apiserver.generic.entry import Entry, Layout
    from steersman.apiserver.generic.feed import Feed
    from steersman.asynckit.clock import Clock
    from steersman.asynckit.tasks import Supervisor
    from steersman.storage.store import Batch, Event, KeyValue, Range, Store, Subscription

_log = logging.getLogger(__name__)

#: Keys per read while the cache is filled: small enough not to block the event loop.
_FILL_PAGE: Final = 500
#: Timeout of readers that wait for a revision. Upstream: ``blockTimeout``.
REVISION_WAIT_SECONDS: Final = 3.0
#: Timeout of readers that wait until the cache is filled, before they receive 429.
READY_WAIT_SECONDS: Final = 10.0
_REFILL_PAUSE_SECONDS: Final = 1.0
#: Upper bounds of ``apiserver_watch_cache_read_wait_seconds``.
READ_WAIT_BOUNDS: Final[tuple[float, ...]] = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0,
)  # fmt: skip
_Waiter = tuple[int, "asyncio.Future[None]"]
_number: Final = itemgetter(0)
#: Module constants, because access to members of an enumeration costs a descriptor call.
_ADDED: Final = EventType.ADDED
_MODIFIED: Final = EventType.MODIFIED
_DELETED: Final = EventType.DELETED


class Follower(Protocol):
    """Index over all objects of a cache, updated synchronously with it."""

    def reset(self, entries: list[Entry]) -> None:
        """Replace all objects."""

    def put(self, entry: Entry) -> None:
        """Add or replace an object."""

    def remove(self, key: str) -> None:
        """Remove an object."""


class ListCounts:
    """Counters of lists: objects that were read, tested against selectors, and returned."""

    __slots__ = ("evaluated", "fetched", "lists", "returned")

    def __init__(self) -> None:
        self.lists = self.fetched = self.evaluated = self.returned = 0

    def observe(self, *, fetched: int, evaluated: int, returned: int) -> None:
        """Count a list."""
        self.lists += 1
        self.fetched += fetched
        self.evaluated += evaluated
        self.returned += returned


class CacheCounts:
    """Counters of a watch cache, for metrics."""

    __slots__ = (
        "consistent_reads",
        "dispatched",
        "events",
        "failed_reads",
        "fills",
        "init_events",
        "lists",
        "read_waits",
        "store_lists",
    )

    def __init__(self) -> None:
        #: Lists answered from the cache, and lists of the store: to fill the cache, and of past revisions.
        self.lists: Final = ListCounts()
        self.store_lists: Final = ListCounts()
        #: Objects and changes that watches began with.
        self.init_events = 0
        #: Time that readers waited for a revision, in seconds.
        self.read_waits: Final = Histogram(READ_WAIT_BOUNDS)
        #: Events of the store, and changes that were added to the ring.
        self.events = 0
        self.dispatched = 0
        self.fills = 0
        #: Reads that waited for the store's revision, and reads that could not be answered.
        self.consistent_reads = 0
        self.failed_reads = 0


class WatchCache:
    """Watch cache of the objects under ``prefix`` (``/registry/pods/``). It is filled on the first ``ready``."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        *,
        layout: Layout,
        clock: Clock,
        tasks: Supervisor,
        namespaced: bool = True,
        remote: bool = False,
        ring: ChangeRing | None = None,
        min_request_timeout_seconds: float = 1800.0,
    ) -> None:
        #: Ends in ``/``.
        self.prefix = prefix
        self.layout = layout
        self.namespaced = namespaced
        #: True if other servers write to the store: the state may be older than their acknowledged writes.
        self.remote = remote
        #: A watch without ``timeoutSeconds`` ends after a random time of one to two times this.
        self.min_request_timeout_seconds = min_request_timeout_seconds
        self.ring = ring or ChangeRing(0)
        self.wakeups = Wakeups(prefix, clock=clock)
        #: Feeds of open watches, shared by those with equal options.
        self.feeds: WeakValueDictionary[tuple[object, ...], Feed] = WeakValueDictionary()
        #: Called with every change before watches are woken.
        self._followers: list[Follower] = []
        self._store = store
        self.clock = clock
        self._tasks = tasks
        self._entries: dict[str, Entry] = {}
        #: Revisions of unreadable objects by key; they have no entries.
        self._corrupt: dict[str, int] = {}
        #: Number of unreadable values.
        self.decode_errors = 0
        #: Sorted keys of ``_entries``.
        self._keys = SortedKeys()
        #: Revision up to which all events have been applied.
        self._applied = 0
        self._subscription: Subscription | None = None
        #: Set while the cache mirrors the store.
        self._filled = False
        self._filling: asyncio.Task[None] | None = None
        #: Readers that wait until the cache is filled.
        self._ready_waiters: list[_Waiter] = []
        #: Incremented whenever events were lost: watches of an earlier epoch end.
        self.epoch = 0
        #: Watches of epochs before this one end with 410: their resource versions may be of a history that is gone.
        self.expired_epoch = 0
        self.closed = False
        self.counts: Final = CacheCounts()

    # -- lifecycle ----------------------------------------------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Report whether reads can be answered at once."""
        return self._filled

    def start(self) -> None:
        """Start to fill the cache. Idempotent."""
        if not self._filled:
            self._start_filling()

    async def ready(self) -> None:
        """Wait until the cache mirrors the store; start it if necessary. Raises 429 after a timeout."""
        if self._filled:
            return
        self._start_filling()
        await self._wait(self._ready_waiters, 0, READY_WAIT_SECONDS)
        if not self._filled:
            raise too_many_requests("storage is (re)initializing", retry_after_seconds=1)

    def follow(self, follower: Follower) -> None:
        """Report all objects to ``follower`` once the cache is filled, and their changes from then on."""
        self._followers.append(follower)
        if self._filled:
            follower.reset(self.snapshot())

    def close(self) -> None:
        """Stop following the store and end all watches. Idempotent."""
        self.closed = True
        if self._filling is not None:
            self._filling.cancel()
        self._unsubscribe()
        self.epoch += 1
        self.wakeups.end()
        for _, waiter in self._ready_waiters:
            _settle(waiter)

    def _start_filling(self) -> None:
        if self._filling is None and not self.closed:
            self._filling = self._tasks.start(f"fill {self.prefix}", self._fill())

    async def _fill(self) -> None:
        try:
            while not await self._fill_once():
                await self.clock.sleep(_REFILL_PAUSE_SECONDS)
        finally:
            self._filling = None

    async def _fill_once(self) -> bool:
        try:
            self._corrupt = {}
            entries, revision = await self._read_all()
            self._entries = {entry.key: entry for entry in entries}
            self._keys = SortedKeys(list(self._entries))
            self._applied = revision
            self.ring.clear(revision)
            for follower in self._followers:
                follower.reset(entries)
            self._subscription = await self._store.watch(
                self.prefix, self._apply, after_revision=revision, on_lost=self._lost
            )
        except StoreError as error:
            _log.warning("cannot fill the cache of %s: %s", self.prefix, error)
            return False
        self._filled = True
        self.counts.fills += 1
        self._resolve(self._ready_waiters)
        return True

    async def _read_all(self) -> tuple[list[Entry], int]:
        entries: list[Entry] = []
        start_after, revision = "", 0
        # a local store reads all at once, off the loop: of heartbeats it keeps no past that a second page could be of
        limit = _FILL_PAGE if self.remote else 0
        while True:
            page = await self._page(start_after=start_after, limit=limit, revision=revision)
            revision = revision or page.revision
            size = len(page.kvs)
            self.counts.store_lists.observe(fetched=size, evaluated=size, returned=size)
            for kv in page.kvs:
                entry = self._readable(kv.key, kv.value, kv.mod_revision, is_stale=kv.is_stale)
                if entry is not None:
                    entries.append(entry)
            if not page.more:
                return entries, revision
            start_after = page.kvs[-1].key

    async def _page(self, *, start_after: str, limit: int, revision: int) -> Range:
        """Read a page; record the keys of damaged values."""
        try:
            return await self._store.range(self.prefix, start_after=start_after, limit=limit, revision=revision)
        except CorruptValue as error:
            if error.readable is None:
                raise
            keys = await self._store.range(self.prefix, keys_only=True)
            revisions = {kv.key: kv.mod_revision for kv in keys.kvs}
            for key in error.keys:
                if key in revisions:
                    self._note_corrupt(key, revisions[key], "does not match its checksum")
            return error.readable

    def _readable(self, key: str, value: bytes, revision: int, *, is_stale: bool = False) -> Entry | None:
        """Return the entry; None for a value that no API server wrote, which must not fail all reads."""
        try:
            return self.layout.entry(key, value, revision, is_stale=is_stale)
        except UnreadableValueError as error:
            self._note_corrupt(key, revision, str(error))
            return None

    def _note_corrupt(self, key: str, revision: int, reason: str) -> None:
        _log.error("the stored data of %s cannot be read: %s", key, reason)
        self._corrupt[key] = revision
        self.decode_errors += 1

    def corrupt_revision(self, key: str) -> int | None:
        """Return the revision of an object that cannot be read; None when it can, or does not exist."""
        return self._corrupt.get(key)

    def check_readable(self, scope: str, group_resource: str) -> None:
        """Raise 500 when objects of a scope cannot be read: a list must not leave them out."""
        if self._corrupt:
            keys = sorted(key for key in self._corrupt if key.startswith(scope or self.prefix))
            if keys:
                raise corrupt_list(group_resource, keys)

    def check_not_compacted(self, revision: int) -> None:
        """Raise ``Compacted`` for a revision that the store has compacted, though the ring may reach back to it.

        Clients see one history of all resources: also a resource without writes since then has no such state any more.
        """
        oldest = self._store.compact_revision
        if revision < oldest:
            raise Compacted(revision, oldest)

    def _lost(self, error: StoreError) -> None:
        """End all watches and refill the cache after the watch of the store has ended."""
        if self.closed:
            return
        level = logging.INFO if isinstance(error, Compacted) else logging.WARNING
        _log.log(level, "lost the watch of %s: %s", self.prefix, error)
        self._filled = False
        self.epoch += 1
        if isinstance(error, Compacted):
            self.expired_epoch = self.epoch
        self._unsubscribe()
        self.wakeups.end()
        self._start_filling()

    def _unsubscribe(self) -> None:
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def end_watches(self) -> None:
        """End all watches, as at shutdown; new ones may start."""
        self.epoch += 1
        self.wakeups.end()

    def mark_stale(self) -> None:
        """Mark all entries as stale: a write of the same object would store another value."""
        self._entries = {key: stale(entry) for key, entry in self._entries.items()}

    # -- following the store ---------------------------------------------------------------------------------------

    def _apply(self, batch: Batch) -> None:
        """Apply a batch of the store to state and ring, and wake the waiters of its revision."""
        ring, wakeups, counts, revision = self.ring, self.wakeups, self.counts, batch.revision
        for event in batch.events:
            change = self._apply_event(event)
            if change is not None:
                ring.append(change)
                wakeups.touch(event.key)
                counts.dispatched += 1
        counts.events += len(batch.events)
        self._applied = max(self._applied, revision)
        if batch.events:
            wakeups.wake()

    def _apply_event(self, event: Event) -> Change | None:
        key, revision = event.key, event.mod_revision
        previous = self._entries.get(key)
        if self._corrupt and self._corrupt.pop(key, None) is not None:
            # Deletions during the gap have no events: watchers end and list again, as with upstream's cacher.
            self.ring.clear(revision)
            self.end_watches()
        entry = None if event.value is None else self._readable(key, event.value, revision, is_stale=event.is_stale)
        if entry is None:
            if previous is None:
                return None
            del self._entries[key]
            self._keys.remove(key)
            for follower in self._followers:
                follower.remove(key)
            return Change(_DELETED, previous.at(revision), previous, revision)
        self._entries[key] = entry
        if previous is None:
            self._keys.add(key)
        for follower in self._followers:
            follower.put(entry)
        return Change(_ADDED if previous is None else _MODIFIED, entry, previous, revision)

    # -- revisions -------------------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """Return the revision of the state: all events up to it have been applied."""
        return max(self._applied, self._store.revision)

    async def wait_fresh(self) -> None:
        """Wait until the state is as new as the store at the time of the call (linearizable reads). Raises 429, 503."""
        await self.ready()
        if self.remote:
            started = self.clock.monotonic()
            try:
                await self._store.current_revision()
            except StoreError as error:
                self.counts.failed_reads += 1
                raise service_unavailable(str(error)) from error
            self.counts.consistent_reads += 1
            self.counts.read_waits.observe(self.clock.monotonic() - started)
            await self.ready()  # the store's watch may have been lost meanwhile

    async def wait_until(self, revision: int) -> None:
        """Wait until the cache has reached ``revision``. Raises 504 after a timeout."""
        await self.ready()
        if revision <= self.revision:
            if revision:
                self.counts.read_waits.observe(0.0)
            return
        started = self.clock.monotonic()
        await self._store.reached(revision, seconds=REVISION_WAIT_SECONDS)
        self.counts.read_waits.observe(self.clock.monotonic() - started)
        await self.ready()  # as in ``wait_fresh``
        if revision > self.revision:
            raise too_large_resource_version(revision, self.revision)

    async def _wait(self, waiters: list[_Waiter], number: int, seconds: float) -> None:
        """Wait until the waiter is resolved, or for ``seconds``."""
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (number, reached)
        insort(waiters, waiter, key=_number)
        timer = self.clock.timer(seconds, lambda: _settle(reached))
        try:
            await reached
        finally:
            timer.cancel()
            if waiter in waiters:
                waiters.remove(waiter)

    def _resolve(self, waiters: list[_Waiter]) -> None:
        while waiters and waiters[0][0] <= self.revision:
            _settle(waiters.pop(0)[1])

    # -- reading ---------------------------------------------------------------------------------------------------

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object."""
        return f"{self.prefix}{namespace}/{name}" if self.namespaced else f"{self.prefix}{name}"

    def requested_key(self, namespace: str, name: str) -> str:
        """Return the key of the object that a request names. Raises 400 for a name that no object can have.

        Upstream: ``NamespaceKeyFunc`` in staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go
        """
        if not name:
            raise bad_request("Name parameter required.")
        if "%" in name or "/" in name or name[0] == ".":
            faults = check_path_segment(name)
            if faults:
                raise bad_request(f"Name parameter invalid: {quote(name)}: {';'.join(faults)}")
        return self.key(namespace, name)

    def scope(self, namespace: str) -> str:
        """Return the key prefix of a namespace; for the empty namespace, that of all objects."""
        return f"{self.prefix}{namespace}/" if namespace and self.namespaced else self.prefix

    def namespace_of(self, entry: Entry) -> str:
        """Return ``metadata.namespace`` of an entry."""
        return entry.key[len(self.prefix) : entry.key.rfind("/")] if self.namespaced else ""

    def get(self, key: str) -> Entry | None:
        """Return the current object. Raises 500 if it is unreadable."""
        if self._corrupt and key in self._corrupt:
            raise corrupt_object(key)
        return self._entries.get(key)

    def __len__(self) -> int:
        return len(self._entries)

    def snapshot(self, scope: str = "", *, start: str = "") -> list[Entry]:
        """Return the current objects whose keys begin with ``scope``, from ``start`` on, in order; a new list."""
        return self._entries_of(self._keys_of(scope, start))

    async def snapshot_at(
        self, revision: int, scope: str = "", *, start: str = "", limit: int = 0
    ) -> tuple[list[Entry], int]:
        """Return the objects at a revision: from the ring, or from the store for older ones. Raises ``Compacted``, ``CorruptValue``.

        Returns the first ``limit`` objects (0: all) and how many there are: a page costs little more than its own objects.
        """
        undone = self.ring.undo(revision) if revision < self.revision else {}
        if undone is None:
            return await self._stored_at(revision, scope or self.prefix, start, limit)
        low = max(scope, start)
        undone = {key: entry for key, entry in undone.items() if key >= low and key.startswith(scope)}
        keys = self._keys_of(scope, start)
        if undone:
            keys = [key for key in keys if key not in undone]
            keys += [key for key, entry in undone.items() if entry is not None]
            keys.sort()
        page = keys[:limit] if limit else keys
        if not undone:
            return self._entries_of(page), len(keys)
        return [undone.get(key) or self._entries[key] for key in page], len(keys)

    def _keys_of(self, scope: str, start: str) -> list[str]:
        end = prefix_end(scope) if scope != self.prefix else ""
        return self._keys.between(max(scope, start), end)

    def _entries_of(self, keys: list[str]) -> list[Entry]:
        entries = self._entries
        return [entries[key] for key in keys]

    async def _stored_at(self, revision: int, scope: str, start: str, limit: int) -> tuple[list[Entry], int]:
        """Return the first ``limit`` objects (0: all) from the store, and how many there are. Raises ``CorruptValue``."""
        entries: list[Entry] = []
        if start.endswith("\0"):  # a continue token: the first key after the one before the NUL
            start = start[:-1]
        elif start and (kv := await self._store.get(start, revision=revision)) is not None and start.startswith(scope):
            entries = self._past_entries([kv])
        while True:
            size = min(_FILL_PAGE, max(limit - len(entries), 1)) if limit else _FILL_PAGE
            page = await self._store.range(scope, start_after=start, limit=size, revision=revision)
            read = len(page.kvs)
            self.counts.store_lists.observe(fetched=read, evaluated=read, returned=read)
            count = len(entries) + page.count
            entries += self._past_entries(page.kvs)
            if not page.more or (limit and len(entries) >= limit):
                return entries[:limit] if limit else entries, count
            start = page.kvs[-1].key

    def _past_entries(self, kvs: Sequence[KeyValue]) -> list[Entry]:
        """Return the entries of past values. Raises ``CorruptValue`` for those that cannot be read: their keys may be intact now."""
        entries, corrupt = [], []
        for kv in kvs:
            try:
                entries.append(self.layout.entry(kv.key, kv.value, kv.mod_revision, is_stale=kv.is_stale))
            except UnreadableValueError:
                corrupt.append(kv.key)
        if corrupt:
            raise CorruptValue(corrupt)
        return entries


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
