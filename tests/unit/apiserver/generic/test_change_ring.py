"""The ring of recent changes."""

from __future__ import annotations

from steersman.apiserver.generic.change_ring import Change, ChangeRing, EventType
from steersman.apiserver.generic.entry import Entry


def change(revision: int, *, key: str = "k", size: int = 10, previous: Entry | None = None) -> Change:
    return Change(EventType.MODIFIED, Entry(key, b"x" * size, revision), previous, revision)


def filled(count: int, **bounds: int) -> ChangeRing:
    ring = ChangeRing(0, **bounds)
    for revision in range(1, count + 1):
        ring.append(change(revision))
    return ring


def test_changes_keep_their_positions_when_older_ones_are_dropped():
    ring = filled(10, changes_max=8)
    assert ring.end == 10
    start = ring.after(7)
    assert [item.revision for item in ring.read(start, 100)] == [8, 9, 10]
    assert ring.holds(start)
    assert not ring.holds(0)


def test_floor_is_the_last_dropped_revision():
    ring = filled(10, changes_max=8)
    assert ring.floor == 2
    assert [item.revision for item in ring.read(ring.after(2), 100)] == list(range(3, 11))


def test_ring_is_bounded_by_bytes():
    ring = ChangeRing(0, bytes_max=100)
    for revision in range(1, 30):
        ring.append(change(revision, size=30))
    assert len(ring.read(ring.after(ring.floor), 100)) <= 4


def test_change_larger_than_the_bound_is_dropped_at_once():
    ring = ChangeRing(0, bytes_max=100)
    ring.append(change(1, size=1000))
    assert ring.floor == 1
    assert ring.end == 1


def test_undo_returns_the_state_before():
    ring = ChangeRing(0)
    first = Entry("a", b"", 1)
    ring.append(Change(EventType.ADDED, first, None, 1))
    second = Entry("a", b"", 2)
    ring.append(Change(EventType.MODIFIED, second, first, 2))
    ring.append(Change(EventType.DELETED, second.at(3) if second.raw else second, second, 3))
    assert ring.undo(3) == {}
    assert ring.undo(2) == {"a": second}
    assert ring.undo(1) == {"a": first}
    assert ring.undo(0) == {"a": None}


def test_undo_of_dropped_changes_is_none():
    assert filled(10, changes_max=8).undo(1) is None


def test_clear_invalidates_cursors():
    ring = filled(3)
    end = ring.end
    ring.clear(50)
    assert not ring.holds(end)
    assert ring.floor == 50
    assert ring.read(ring.end, 10) == []
