"""Dispatch of committed events to watchers by prefix. Confined to the event loop."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from steersman.storage.keys import ancestors
from steersman.storage.store import Batch, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.storage.store import Event, StoreError

_log = logging.getLogger(__name__)

#: Bound of the cache by folder (e.g. one namespace of a resource).
_FOLDERS_MAX = 4096


class Watcher:
    """Subscription to the events of one prefix."""

    __slots__ = ("_dispatcher", "_on_lost", "_sink", "closed", "prefix", "seen_revision")

    def __init__(
        self,
        dispatcher: Dispatcher,
        prefix: str,
        *,
        sink: Callable[[Batch], None],
        after_revision: int,
        on_lost: Callable[[StoreError], None],
    ) -> None:
        self._dispatcher = dispatcher
        self._sink = sink
        self._on_lost = on_lost
        self.prefix = prefix
        #: Events up to this revision were delivered or not requested.
        self.seen_revision = after_revision
        self.closed = False

    def close(self) -> None:
        self.closed = True
        self._dispatcher.forget(self)

    def send(self, events: Sequence[Event], *, revision: int) -> None:
        """Deliver the new ones of ``events``; a sink that raises loses its watch."""
        if self.closed or revision <= self.seen_revision:
            return
        if events and events[0].mod_revision <= self.seen_revision:
            events = [event for event in events if event.mod_revision > self.seen_revision]
        self.seen_revision = revision
        if not events:
            return
        try:
            self._sink(Batch(tuple(events), revision))
        except Exception as error:  # noqa: BLE001 — an error of one sink must not stop other watches
            _log.exception("the sink of a watch on %s failed", self.prefix)
            self.lose(Unavailable(f"the sink of the watch on {self.prefix} failed: {error!r}"))

    def lose(self, error: StoreError) -> None:
        """End the watch with an error."""
        if self.closed:
            return
        self.close()
        try:
            self._on_lost(error)
        except Exception:  # noqa: BLE001 — as above
            _log.exception("on_lost of a watch on %s failed", self.prefix)


class Dispatcher:
    """Watchers by prefix; an event finds its watchers by its key's ancestors, independent of the number of watches."""

    def __init__(self) -> None:
        #: Entries are never empty; dicts keep the order of registration.
        self._by_prefix: dict[str, dict[Watcher, None]] = {}
        #: Cache: watchers of the keys directly in a folder; cleared with every change of ``_by_prefix``.
        self._by_folder: dict[str, tuple[Watcher, ...]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_prefix.values()))

    def add(self, watcher: Watcher) -> None:
        self._by_prefix.setdefault(watcher.prefix, {})[watcher] = None
        self._by_folder.clear()

    def forget(self, watcher: Watcher) -> None:
        watchers = self._by_prefix.get(watcher.prefix)
        if watchers is None or watcher not in watchers:
            return
        del watchers[watcher]
        self._by_folder.clear()
        if not watchers:
            del self._by_prefix[watcher.prefix]

    def deliver(self, events: Sequence[Event], *, revision: int) -> None:
        """Send ``events``, the last at ``revision``, in one batch to each matching watcher."""
        if not self._by_prefix:
            return
        events_by_watcher: dict[Watcher, list[Event]] = {}
        for event in events:
            folder = event.key[: event.key.rfind("/") + 1]
            watchers = self._by_folder.get(folder)
            if watchers is None:
                watchers = self._watchers_of(folder)
            for watcher in watchers:
                events_by_watcher.setdefault(watcher, []).append(event)
        for watcher, its_events in events_by_watcher.items():
            watcher.send(its_events, revision=revision)

    def _watchers_of(self, folder: str) -> tuple[Watcher, ...]:
        """Return the watchers of the folder and of all its ancestors."""
        if len(self._by_folder) >= _FOLDERS_MAX:
            self._by_folder.clear()
        watchers = tuple(watcher for prefix in ancestors(folder) for watcher in self._by_prefix.get(prefix, ()))
        self._by_folder[folder] = watchers
        return watchers

    def close(self, error: StoreError) -> None:
        """End every watch with ``error``."""
        for watchers in list(self._by_prefix.values()):
            for watcher in list(watchers):
                watcher.lose(error)
