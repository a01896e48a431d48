"""Watch of a version that a ``Converter`` converts.

Changes are converted before they are read from the ring: all that one read takes, in one call. While the converter fails, the
cursor stays where it is and the call is repeated with backoff, so that the watch goes on when the converter comes back; if the
ring has moved on by then, the watch ends with 410 like any other that is too slow.

Upstream ends such watches (the cacher's own watch fails), and clients list again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.watch_stream import WatchStream
from steersman.apiserver.generic.feed import ConvertedFeed

if TYPE_CHECKING:
    from steersman.apiserver.endpoints.watch_stream import EventView, Push
    from steersman.apiserver.generic.change_ring import Change
    from steersman.apiserver.generic.conversion import SharedConversions
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.feed import Framing
    from steersman.apiserver.generic.listing import ListOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.asynckit.clock import Timer

_log: Final = logging.getLogger(__name__)

#: Changes, and bytes of stored objects, of one call.
_CHANGES_MAX: Final = 500
_BYTES_MAX: Final = 1024 * 1024
#: Pause after a failed call; exponential, up to the maximum.
RETRY_SECONDS: Final = 0.5
RETRY_MAX_SECONDS: Final = 10.0


class ConvertingWatchStream(WatchStream):
    """Event stream of one watch, converted."""

    def __init__(
        self,
        served: ServedResource,
        conversions: SharedConversions,
        view: EventView,
        *,
        framing: Framing | None = None,
        options: ListOptions,
        revision: int,
    ) -> None:
        self._converted_feed: Final = ConvertedFeed(
            served.cache, options.selection, whole=view.whole, framing=framing, counts=served.watch_counts
        )
        super().__init__(served, self._converted_feed, view, options=options, revision=revision)
        self._conversions: Final = conversions
        self._is_initial_converted = False
        self._retry_seconds = 0.0
        #: Runs until the next call after a failed one.
        self._retry_timer: Timer | None = None

    async def __anext__(self) -> bytes:
        if not self._is_started:
            piece = await self._begin()
            if piece:
                return piece
        if self._initial and not self._is_initial_converted:
            error = await self._convert_initial()
            if error is not None:
                return self._failed(error)
        while True:
            if not self._is_ended and self._initial_revision is None:
                await self._convert_ahead()
            if self._is_behind:
                await self._served.clock.sleep(0)
            is_behind, piece = self._next()
            self._is_behind = is_behind and self._retry_timer is None
            if piece:
                return piece
            if self._is_ended:
                await self.aclose()
                raise StopAsyncIteration
            if not self._is_behind:
                await self._wait()

    async def aclose(self) -> None:
        """Release timers and objects. Idempotent."""
        if self._retry_timer is not None:
            self._retry_timer.cancel()
            self._retry_timer = None
        await super().aclose()

    def attach(self, push: Push) -> None:
        """Ignore ``push``: changes are converted in the task of the watch."""

    async def _convert_initial(self) -> StatusError | None:
        """Convert the initial state in one call; return the error that ends the watch, if any."""
        initial = list(self._initial)
        try:
            converted = await self._conversions.converter.entries(initial)
        except StatusError as error:
            return error
        self._initial.clear()
        self._initial.extend(converted)
        self._is_initial_converted = True
        return None

    async def _convert_ahead(self) -> None:
        """Convert the next changes, unless they are converted already or the last call failed recently."""
        ring, cursor = self._cache.ring, self._cursor
        if self._after:
            cursor = max(cursor, ring.after(self._after))
        if not ring.holds(cursor) or cursor >= ring.end or self._converted_feed.holds(cursor):
            return
        if self._retry_timer is not None:
            return
        changes = _bounded(ring.read(cursor, _CHANGES_MAX))
        sources = list(self._sources(changes).values())
        try:
            converted = await self._conversions.entries(sources) if sources else []
        except StatusError as error:
            self._note_failure(error)
            return
        self._retry_seconds = 0.0
        by_version = {(entry.key, entry.revision): entry for entry in converted}
        self._converted_feed.set_ahead(cursor, [_replaced(change, by_version) for change in changes])

    def _sources(self, changes: list[Change]) -> dict[tuple[str, int], Entry]:
        """Return the entries that the events, and the selectors, need."""
        selection = self._feed.selection
        sources: dict[tuple[str, int], Entry] = {}
        for change in changes:
            if not selection.covers(change.entry.key):
                continue
            sources[change.entry.key, change.entry.revision] = change.entry
            if change.previous is not None and not selection.takes_all:
                sources[change.previous.key, change.previous.revision] = change.previous
        return sources

    def _note_failure(self, error: StatusError) -> None:
        if not self._retry_seconds:
            _log.warning("a watch of %s waits for its converter: %s", self._served.resource.api_version, error.message)
        self._retry_seconds = min(self._retry_seconds * 2 or RETRY_SECONDS, RETRY_MAX_SECONDS)
        self._retry_timer = self._served.clock.timer(self._retry_seconds, self._retry)

    def _retry(self) -> None:
        self._retry_timer = None
        self.wake()


def _bounded(changes: list[Change]) -> list[Change]:
    """Return the first changes, up to the bytes of one call."""
    size = 0
    for count, change in enumerate(changes):
        size += len(change.entry.raw)
        if count and size > _BYTES_MAX:
            return changes[:count]
    return changes


def _replaced(change: Change, converted: dict[tuple[str, int], Entry]) -> Change:
    """Return a change with its converted entries."""
    entry, previous = change.entry, change.previous
    if previous is not None:
        previous = converted.get((previous.key, previous.revision), previous)
    return msgspec.structs.replace(change, entry=converted.get((entry.key, entry.revision), entry), previous=previous)
