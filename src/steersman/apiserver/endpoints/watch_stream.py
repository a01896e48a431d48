"""Event stream of a watch: a cursor in the ring of changes, the remaining objects of the initial state, and one timer."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from steersman.apimachinery.errors import StatusError, resource_expired
from steersman.apiserver.endpoints.views import bookmark_tree
from steersman.apiserver.generic.change_ring import EventType

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.feed import Feed
    from steersman.apiserver.generic.listing import ListOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.asynckit.clock import Timer

#: Upstream's ``defaultBookmarkFrequency``, and how long before a watch's end the last bookmark comes.
BOOKMARK_SECONDS: Final = 60.0
_BEFORE_END_SECONDS: Final = 2.0
#: Upper bound of timeouts.
_TIMEOUT_MAX_SECONDS: Final = 10 * 365 * 86400
#: Bounds of a piece of the initial state: objects, and approximate bytes.
_INITIAL_OBJECTS: Final = 500
_INITIAL_BYTES: Final = 192 * 1024
#: Event loops may fire timers early by up to this time.
_EARLY_SECONDS: Final = 0.002
#: Cursor that is in no ring.
_NOWHERE: Final = -1


class Push(Protocol):
    """Writes to the client of one watch from outside its task (the ASGI extension ``steersman.push``)."""

    def __call__(self, piece: bytes) -> bool:
        """Write a frame; return False, with nothing written, if the watch task must write it instead."""

    @property
    def is_paused(self) -> bool:
        """True while the client's write buffer is above its high-water mark."""

    async def drained(self) -> None:
        """Return when more may be written, or the connection is lost."""


class EventView(Protocol):
    """Encoding of objects in events (see ``View``)."""

    def whole(self, entry: Entry) -> bytes: ...

    def whole_of(self, tree: Tree) -> bytes: ...


class WatchStream:
    """Event stream of one watch: a cursor, the remaining objects of the initial state, and one timer."""

    def __init__(
        self, served: ServedResource, feed: Feed, view: EventView, *, options: ListOptions, revision: int
    ) -> None:
        self._served = served
        self._cache = served.cache
        self._feed = feed
        self._view = view
        self._options = options
        self._revision = revision
        #: Revision up to which all changes have been sent; later ones may have been, too.
        self._sent_revision = revision
        #: Changes up to this revision are not sent (a watch from a future version).
        self._after = 0
        self._cursor = 0
        self._epoch = served.cache.epoch
        self._is_started = False
        #: The stream has ended.
        self._is_ended = False
        #: More events can be read without waiting.
        self._is_behind = False
        #: Objects of the initial state that have not been sent.
        self._initial: deque[Entry] = deque()
        #: Resource version of the initial state, until the bookmark that ends it has been sent.
        self._initial_revision: int | None = None
        #: Resolved when there may be events; None while the watch does not wait.
        self._woken: asyncio.Future[None] | None = None
        self._push: Push | None = None
        #: Piece that was not written because the connection was paused.
        self._unsent_piece = b""
        clock = served.clock
        self._created = clock.monotonic()
        self._end = self._created + self._timeout_seconds()
        self._bookmark_due = self._next_bookmark()
        self._timer: Timer | None = None
        self._arm()

    # -- the iterator ------------------------------------------------------------------------------------------------

    def __aiter__(self) -> WatchStream:
        return self

    async def __anext__(self) -> bytes:
        if not self._is_started:
            piece = await self._begin()
            if piece:
                return piece
        while True:
            if self._unsent_piece:
                piece, self._unsent_piece = self._unsent_piece, b""
                return piece
            push = self._push
            if push is not None and push.is_paused:
                await push.drained()  # the cursor stays where it is: a client that does not read holds no events
            if self._is_behind:
                await self._served.clock.sleep(0)  # a client may take each piece at once
            self._is_behind, piece = self._next()
            if piece:
                return piece
            if self._is_ended:
                await self.aclose()
                raise StopAsyncIteration
            if not self._is_behind:
                await self._wait()

    async def aclose(self) -> None:
        """Release the cursor, the objects and the timer. Idempotent."""
        self._is_ended = True
        self._initial.clear()
        self._feed.settle()  # it may not outlive its last watch
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _wait(self) -> None:
        wakeups, scope = self._cache.wakeups, self._feed.selection.scope
        self._woken = woken = asyncio.get_running_loop().create_future()
        wakeups.add(scope, self)
        try:
            await woken
        finally:
            self._woken = None
            wakeups.remove(scope, self)

    def attach(self, push: Push) -> None:
        """Push events to the client while this waits, without waking the watch task."""
        self._push = push

    def wake(self) -> None:
        """Wake the watch: events may have arrived, or a timer is due. See ``WatchWaiter``."""
        woken = self._woken
        if woken is None or woken.done():
            return
        try:
            if self._push is not None and self._pushed(self._push):
                return
        except Exception as error:  # noqa: BLE001 — it ends this watch, as it would from the task, and no other
            woken.set_exception(error)
        else:
            woken.set_result(None)

    def _pushed(self, push: Push) -> bool:
        """Report whether all events were written, so that the watch goes on waiting."""
        if push.is_paused:
            return False
        busy, piece = self._next()
        if piece and not push(piece):
            self._unsent_piece = piece
            return False
        return not busy and not self._is_ended

    # -- start of the watch -----------------------------------------------------------------------------------------------

    def begin_now(self) -> None:
        """Begin if nothing must be awaited; later changes are not missed."""
        cache = self._cache
        wants_state = bool(self._options.send_initial_events)
        is_reached = self._revision <= cache.revision
        fresh_enough = is_reached and not (cache.remote and not self._options.resource_version)
        if cache.is_ready and (fresh_enough if wants_state else is_reached or not cache.remote):
            self._start()

    async def _begin(self) -> bytes:
        """Begin after the cache is fresh enough; return the ERROR event if that fails."""
        cache = self._cache
        try:
            if not self._options.send_initial_events:
                await cache.ready()
                if cache.remote and self._revision > cache.revision:
                    await cache.wait_fresh()
            elif self._options.resource_version:
                await cache.wait_until(self._revision)
            else:
                await cache.wait_fresh()
            self._start()
        except StatusError as error:
            return self._failed(error)
        return b""

    def _start(self) -> None:
        """Set the cursor into the ring, and read the current state if initial events are requested."""
        self._is_started = True
        cache, ring = self._cache, self._cache.ring
        self._epoch = cache.epoch
        self._cursor = ring.end
        if self._options.send_initial_events:
            selection = self._feed.selection
            if selection.is_single:
                entry = cache.get(selection.scope)
                entries = [] if entry is None else [entry]
            else:
                cache.check_readable(selection.scope, self._served.resource.group_resource)
                entries = cache.snapshot(selection.scope)
            self._initial = deque(entries)
            self._initial_revision = cache.revision
            cache.counts.init_events += len(entries)
            return
        if self._revision > cache.revision:
            self._after = self._revision
        elif self._revision:
            self._cursor = (
                ring.after(self._revision) if self._revision >= ring.floor else _NOWHERE
            )  # missing changes are reported by the first read
            if self._cursor != _NOWHERE:
                cache.counts.init_events += ring.end - self._cursor

    # -- next events ---------------------------------------------------------------------------------------------

    def _next(self) -> tuple[bool, bytes]:
        """Return whether more can be read without waiting, and the next piece, empty without one."""
        if self._is_ended:
            return False, b""
        now = self._served.clock.monotonic() + _EARLY_SECONDS
        if self._epoch < self._cache.expired_epoch:
            return False, self._failed(self._too_old())
        if now >= self._end or self._epoch != self._cache.epoch:
            self._is_ended = True
            return False, b""
        if self._initial_revision is not None:
            return True, self._initial_piece(self._initial_revision)
        ring = self._cache.ring
        if not ring.holds(self._cursor):
            return False, self._failed(self._too_old())
        if self._after:
            first = ring.after(self._after)
            if self._cache.remote and first > self._cursor:
                # The client has seen later versions, which are assigned again after a snapshot was restored.
                frames, self._cursor = self._feed.read(self._cursor)
                return (False, self._failed(self._too_old())) if frames else (self._cursor < ring.end, b"")
            self._cursor = max(self._cursor, first)
            if self._cursor < ring.end:
                self._after = 0
        frames, self._cursor = self._feed.read(self._cursor)
        is_behind = self._cursor < ring.end
        if not is_behind:
            self._sent_revision = self._cache.revision
        if now >= self._bookmark_due and not is_behind:
            frames += self._bookmark()
        return is_behind, frames

    def _initial_piece(self, revision: int) -> bytes:
        """Return the next objects of the initial state; after the last one also its bookmark, if bookmarks are allowed."""
        feed, initial = self._feed, self._initial
        matches = feed.selection.matches
        frames: list[bytes] = []
        size = 0
        for _ in range(min(len(initial), _INITIAL_OBJECTS)):
            entry = initial.popleft()
            if matches(entry):
                frame = feed.frame(EventType.ADDED, entry)
                frames.append(frame)
                size += len(frame)
                if size >= _INITIAL_BYTES:
                    break
        counts = self._served.watch_counts
        counts.observe_events([len(frame) for frame in frames], 1)
        if not initial:
            if self._options.allow_bookmarks:
                frames.append(self._bookmark_frame(revision, ends_initial_events=True))
                counts.observe_list(self._scope(), self._served.clock.monotonic() - self._created)
            self._initial_revision = None
        return b"".join(frames)

    def _scope(self) -> str:
        """Return the scope of the watch, as request metrics name it. Upstream: ``CleanScope``."""
        selection = self._feed.selection
        if selection.is_single:
            return "resource"
        return "cluster" if selection.scope == self._cache.prefix else "namespace"

    def _bookmark(self) -> bytes:
        self._bookmark_due = self._next_bookmark()
        self._arm()
        revision = self._cache.revision
        return b"" if revision < self._after else self._bookmark_frame(revision, ends_initial_events=False)

    def _bookmark_frame(self, revision: int, *, ends_initial_events: bool) -> bytes:
        tree = bookmark_tree(self._served, revision, ends_initial_events=ends_initial_events)
        frame = self._feed.event(EventType.BOOKMARK, self._view.whole_of(tree))
        self._served.watch_counts.observe_events([len(frame)], 1)
        return frame

    def _failed(self, error: StatusError) -> bytes:
        self._is_started = self._is_ended = True
        feed = self._feed
        return feed.event(EventType.ERROR, feed.framing.encode(error.status))

    def _too_old(self) -> StatusError:
        return resource_expired(f"too old resource version: {self._sent_revision} ({self._cache.ring.floor})")

    # -- timers --------------------------------------------------------------------------------------------------------

    def _timeout_seconds(self) -> float:
        requested = self._options.timeout_seconds
        if requested:
            return min(requested, _TIMEOUT_MAX_SECONDS)
        return self._cache.min_request_timeout_seconds * (1 + self._served.random())

    def _next_bookmark(self) -> float:
        """Return the time of the next bookmark; infinite if the watch ends before."""
        now = self._served.clock.monotonic()
        due = min(now + BOOKMARK_SECONDS, self._end - _BEFORE_END_SECONDS)
        return due if self._options.allow_bookmarks and due > now else float("inf")

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        clock = self._served.clock
        self._timer = clock.timer(min(self._end, self._bookmark_due) - clock.monotonic(), self._tick)

    def _tick(self) -> None:
        """Handle the timer: a bookmark or the end of the watch is due."""
        self._timer = None
        self.wake()
