"""Events of watches: filtered, in the requested form, encoded once for all watchers with equal options."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 — compiled code looks at a tuple's types
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.codec import encode
from steersman.apimachinery.protowire import length_delimited, varint
from steersman.apimachinery.trees import Tree  # noqa: TC001 — as Callable
from steersman.apiserver.generic.change_ring import EventType
from steersman.apiserver.generic.watch_counts import JoinedRead, WatchCounts
from steersman.schema.protobuf import encode_body

if TYPE_CHECKING:
    from weakref import WeakValueDictionary

    from steersman.apiserver.generic.change_ring import Change
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.selection import Selection
    from steersman.apiserver.generic.watch_cache import WatchCache

#: Bounds of the changes and bytes of one read, so that a watcher that is far behind does not delay others.
_CHANGES_MAX: Final = 1000
_BYTES_MAX: Final = 256 * 1024
#: Number of cached reads: most watchers of one round read from the same cursor, others lag by one or two changes.
_JOINED_MAX: Final = 3

_HEADS: Final = {type_: b'{"type":"%b","object":' % type_.value.encode() for type_ in EventType}
#: ``WatchEvent`` up to its object, a ``RawExtension``.
_PROTOBUF_HEADS: Final = {type_: length_delimited(1, type_.value.encode()) + b"\x12" for type_ in EventType}


class Framing(NamedTuple):
    """Encoding of events in one media type."""

    #: Encodes an event with an encoded object.
    event: Callable[[EventType, bytes], bytes]
    #: Encodes an object that is no entry: the Status of an error.
    encode: Callable[[Tree], bytes]


class Feed:
    """Events of the watchers with one selection and one form."""

    __slots__ = (
        "__weakref__",
        "_counts",
        "_joined",
        "_raw_heads",
        "_whole",
        "cache",
        "event",
        "framing",
        "selection",
    )

    def __init__(
        self,
        cache: WatchCache,
        selection: Selection,
        *,
        whole: Callable[[Entry], bytes],
        head: bytes | None,
        framing: Framing | None = None,
        counts: WatchCounts | None = None,
    ) -> None:
        """``whole`` encodes an object; where that is ``head + raw[1:]``, ``head`` saves the calls.

        ``framing``: by default lines of JSON. ``counts`` receives the sizes of events.
        """
        self.cache = cache
        self.selection = selection
        self._whole = whole
        self.framing: Final = JSON_FRAMING if framing is None else framing
        #: Encodes an event with an encoded object, which need not be an entry (bookmarks, errors).
        self.event: Final = self.framing.event
        self._raw_heads = {type_: text + head for type_, text in _HEADS.items()} if head is not None else None
        self._counts: Final = counts or WatchCounts()
        self._counts.feeds.add(self)
        #: The latest reads.
        self._joined: list[JoinedRead] = []

    def read(self, cursor: int) -> tuple[bytes, int]:
        """Return the frames from ``cursor`` on, which the ring must hold, and the cursor after them."""
        ring = self.cache.ring
        end = ring.end
        if cursor == end:
            return b"", end
        for joined in self._joined:
            if joined.start == cursor and joined.stop == end:
                joined.watchers += 1
                return joined.frames, end
        frames, stop = self._encode(ring.read(cursor, _CHANGES_MAX), cursor)
        for dropped in self._joined[_JOINED_MAX - 1 :]:
            self._settle(dropped)
        joined = JoinedRead(cursor, stop, frames)
        self._joined = [joined, *self._joined[: _JOINED_MAX - 1]]
        return joined.frames, stop

    def settle(self) -> None:
        """Count the events of the latest reads."""
        for joined in self._joined:
            self._settle(joined)

    def _settle(self, joined: JoinedRead) -> None:
        self._counts.observe_events(joined.sizes, joined.watchers)
        joined.watchers = 0

    def frame(self, type_: EventType, entry: Entry) -> bytes:
        """Return one event."""
        heads = self._raw_heads
        if heads is not None:
            return b"%b%b}\n" % (heads[type_], entry.raw[1:])
        return self.event(type_, self._whole(entry))

    def _encode(self, changes: list[Change], cursor: int) -> tuple[list[bytes], int]:
        selection = self.selection
        plain = selection.takes_all and selection.scope == self.cache.prefix
        frames: list[bytes] = []
        size = 0
        for change in changes:
            cursor += 1
            if plain:
                frame = self.frame(change.type, change.entry)
            else:
                shown = selected_event(selection, change)
                if shown is None:
                    continue
                frame = self.frame(*shown)
            frames.append(frame)
            size += len(frame)
            if size > _BYTES_MAX:
                break
        return frames, cursor


class ConvertedFeed(Feed):
    """Events of changes that have been converted ahead of the read."""

    __slots__ = ("_ahead", "_start", "_stop")

    def __init__(
        self,
        cache: WatchCache,
        selection: Selection,
        *,
        whole: Callable[[Entry], bytes],
        framing: Framing | None = None,
        counts: WatchCounts | None = None,
    ) -> None:
        super().__init__(cache, selection, whole=whole, head=None, framing=framing, counts=counts)
        self._ahead: list[Change] = []
        self._start = self._stop = 0

    def set_ahead(self, cursor: int, changes: list[Change]) -> None:
        """Set the converted changes from ``cursor`` on."""
        self._ahead, self._start, self._stop = changes, cursor, cursor + len(changes)

    def read(self, cursor: int) -> tuple[bytes, int]:
        """Return the frames of the converted changes from ``cursor`` on, and the cursor after them."""
        if not self.holds(cursor):
            return b"", cursor
        frames, stop = self._encode(self._ahead[cursor - self._start :], cursor)
        self._counts.observe_events([len(frame) for frame in frames], 1)
        return b"".join(frames), stop

    def holds(self, cursor: int) -> bool:
        """True if the change at ``cursor`` has been converted."""
        return self._start <= cursor < self._stop


def selected_event(selection: Selection, change: Change) -> tuple[EventType, Entry] | None:
    """Return a change as a watch with a selector sees it: ADDED when the object enters the selection, DELETED when it leaves.

    What left is shown in its last state inside, with the version of the change, as upstream does.
    """
    entry, previous = change.entry, change.previous
    if not selection.covers(entry.key):
        return None
    if selection.takes_all:
        return change.type, entry
    is_inside = change.type is not EventType.DELETED and selection.matches(entry)
    was_inside = previous is not None and selection.matches(previous)
    if is_inside:
        return (EventType.MODIFIED if was_inside else EventType.ADDED), entry
    if not was_inside or previous is None:
        return None
    return EventType.DELETED, entry if change.type is EventType.DELETED else previous.at(change.revision)


def shared_feed(
    feeds: WeakValueDictionary[tuple[object, ...], Feed], identity: tuple[object, ...], make: Callable[[], Feed]
) -> Feed:
    """Return the feed of that identity, which lives as long as a watcher reads it."""
    feed = feeds.get(identity)
    if feed is None:
        feed = feeds[identity] = make()
    return feed


def event_frame(type_: EventType, obj: bytes) -> bytes:
    """Return an event with an object that is no entry: a bookmark, an error."""
    return b"%b%b}\n" % (_HEADS[type_], obj)


def protobuf_event_frame(type_: EventType, obj: bytes) -> bytes:
    """Return an event as a length-delimited ``WatchEvent``; ``obj`` is an object with its envelope.

    Upstream: ``LengthDelimitedFramer`` and ``protobuf.NewRawSerializer``.
    """
    raw = length_delimited(1, obj)
    event = _PROTOBUF_HEADS[type_] + varint(len(raw)) + raw
    return len(event).to_bytes(4, "big") + event


JSON_FRAMING: Final = Framing(event_frame, encode)
PROTOBUF_FRAMING: Final = Framing(protobuf_event_frame, encode_body)
