"""Hands committed events to the watches of their prefixes. Runs on the event loop only."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from steersman.storage.keys import ancestors
from steersman.storage.store import Batch, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.storage.store import Event, StoreError

_log = logging.getLogger(__name__)

#: Bound of what is kept of folders (a folder is a namespace of a resource, say).
_FOLDERS_MAX = 4096


class Watcher:
    """A subscription: where the events of one prefix go."""

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
        #: Everything up to here has been delivered, or was not asked for.
        self.seen_revision = after_revision
        self.closed = False

    def close(self) -> None:
        self.closed = True
        self._dispatcher.forget(self)

    def send(self, events: Sequence[Event], *, revision: int) -> None:
        """Deliver what the watcher has not seen of ``events``; a sink that raises loses its watch."""
        if self.closed or revision <= self.seen_revision:
            return
        if events and events[0].mod_revision <= self.seen_revision:
            events = [event for event in events if event.mod_revision > self.seen_revision]
        self.seen_revision = revision
        if not events:
            return
        try:
            self._sink(Batch(tuple(events), revision))
        except Exception as error:  # noqa: BLE001 — the sink is foreign code; a bug there must not stop the others
            _log.exception("the sink of a watch on %s failed", self.prefix)
            self.lose(Unavailable(f"the sink of the watch on {self.prefix} failed: {error!r}"))

    def lose(self, error: StoreError) -> None:
        """End the watch from the store's side."""
        if self.closed:
            return
        self.close()
        try:
            self._on_lost(error)
        except Exception:  # noqa: BLE001 — as above
            _log.exception("on_lost of a watch on %s failed", self.prefix)


class Dispatcher:
    """Watchers by prefix, so that an event finds its own by its key's ancestors, however many watches there are."""

    def __init__(self) -> None:
        #: No entry is empty; dicts keep the watchers in order of registration.
        self._by_prefix: dict[str, dict[Watcher, None]] = {}
        #: The watchers of the keys that lie right in a folder; forgotten with every change of the above.
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
        """Send ``events``, which bring the store to ``revision``, in one batch to each watcher concerned."""
        if not self._by_prefix:
            return
        concerned: dict[Watcher, list[Event]] = {}
        for event in events:
            folder = event.key[: event.key.rfind("/") + 1]
            watchers = self._by_folder.get(folder)
            if watchers is None:
                watchers = self._watchers_of(folder)
            for watcher in watchers:
                concerned.setdefault(watcher, []).append(event)
        for watcher, its_events in concerned.items():
            watcher.send(its_events, revision=revision)

    def _watchers_of(self, folder: str) -> tuple[Watcher, ...]:
        """Those of the folder and of all that it lies in."""
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
