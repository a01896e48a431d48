"""Ring of the recent changes of one resource, shared by all watchers. Changes are numbered consecutively.

Watchers hold a number (a cursor), not a queue, so a watcher that does not read costs nothing; when the ring has moved
past its cursor it has lost changes and is answered with 410.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum
from operator import attrgetter
from typing import Final

import msgspec

from steersman.apiserver.generic.entry import Entry  # noqa: TC001 — compiled code looks at a Struct's types

#: Bounds of one resource's ring; whichever is reached first makes the oldest quarter go. Upstream's cache holds between
#: 100 and 102,400 events and grows with the rate of changes; bytes are what memory is short of.
CHANGES_MAX: Final = 8192
BYTES_MAX: Final = 16 * 1024 * 1024


class EventType(StrEnum):
    """``type`` of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class Change(msgspec.Struct, gc=False, eq=False, frozen=True):
    """Change of one object at one revision."""

    type: EventType
    #: The object after the change; when it was deleted its last state, with the version of the deletion.
    entry: Entry
    #: The object before the change; None when it was added.
    previous: Entry | None
    revision: int


_revision_of: Final = attrgetter("revision")


class ChangeRing:
    """Bounded ring of changes in the order of their revisions. A change keeps its number while it is in the ring."""

    __slots__ = ("_bytes", "_changes", "_first", "bytes_max", "changes_max", "floor")

    def __init__(self, floor: int, *, changes_max: int = CHANGES_MAX, bytes_max: int = BYTES_MAX) -> None:
        self._changes: list[Change] = []
        #: The number of ``_changes[0]``.
        self._first = 0
        self._bytes = 0
        #: Every change after this revision is here (or has not happened).
        self.floor = floor
        self.changes_max = changes_max
        self.bytes_max = bytes_max

    @property
    def end(self) -> int:
        """Number of the next change."""
        return self._first + len(self._changes)

    @property
    def size_bytes(self) -> int:
        """Bytes of the encoded objects in the ring."""
        return self._bytes

    def append(self, change: Change) -> None:
        """Append a change; drop the oldest quarter if a bound is reached."""
        self._changes.append(change)
        self._bytes += len(change.entry.raw)
        if len(self._changes) > self.changes_max or self._bytes > self.bytes_max:
            self._drop(max(1, len(self._changes) // 4))

    def holds(self, number: int) -> bool:
        """Report whether the ring still has all changes from ``number`` on."""
        return number >= self._first

    def after(self, revision: int) -> int:
        """Return the number of the first change later than ``revision``, which must not lie before ``floor``."""
        return self._first + bisect_right(self._changes, revision, key=_revision_of)

    def read(self, number: int, limit: int) -> list[Change]:
        """Return up to ``limit`` changes from ``number`` on, which must still be in the ring."""
        start = number - self._first
        return self._changes[start : start + limit]

    def undo(self, revision: int) -> dict[str, Entry | None] | None:
        """Return the objects that differed at ``revision``, by key; None for a key without an object then. Return None if the revision is too old."""
        if revision < self.floor:
            return None
        then: dict[str, Entry | None] = {}
        for change in self._changes[self.after(revision) - self._first :]:
            then.setdefault(change.entry.key, change.previous)
        return then

    def clear(self, floor: int) -> None:
        """Drop all changes; the next ones are later than ``floor``. Earlier cursors become invalid."""
        self._first = self.end + 1
        self._changes.clear()
        self._bytes = 0
        self.floor = floor

    def _drop(self, count: int) -> None:
        dropped = self._changes[:count]
        del self._changes[:count]
        self._first += count
        self._bytes -= sum(len(change.entry.raw) for change in dropped)
        self.floor = dropped[-1].revision
