"""The history checker finds what it is for."""

from __future__ import annotations

from scripts.etcd_faults import Operation, Watched, check

from steersman.storage.store import Event

HISTORY = [Event("/k/1", b"a", 2, 2), Event("/k/2", b"b", 3, 3), Event("/k/1", b"c", 2, 4)]


def write(begin, end, revision, value=b"a", key="/k/1"):
    return Operation("write", key, begin, end, revision, value)


def read(begin, end, revision, key="/k/1"):
    return Operation("read", key, begin, end, revision, b"")


def test_history_of_one_client_is_linearizable():
    operations = [
        write(1, 2, 2), read(3, 4, 2), write(5, 6, 3, b"b", "/k/2"), read(7, 8, 2), write(9, 10, 4, b"c"), read(11, 12, 4),
    ]  # fmt: skip
    assert check(operations, [Watched(1, 4, list(HISTORY))], HISTORY) == []


def test_concurrent_read_may_return_the_state_before_or_after_a_write():
    for revision in (2, 4):
        assert check([write(1, 2, 2), write(3, 6, 4, b"c"), read(4, 5, revision)], [], HISTORY) == []


def test_lost_acknowledged_write_is_found():
    (fault,) = check([write(1, 2, 9, b"z")], [], HISTORY)
    assert "lost" in fault


def test_read_of_a_state_older_than_an_answered_write_is_found():
    faults = check([write(1, 2, 2), write(3, 4, 4, b"c"), read(5, 6, 2)], [], HISTORY)
    assert len(faults) == 1
    assert "not linearizable" in faults[0]


def test_read_of_a_state_newer_than_a_later_write_is_found():
    faults = check([read(1, 2, 4), write(3, 4, 2)], [], HISTORY)
    assert any("not linearizable" in fault for fault in faults)


def test_write_with_a_smaller_revision_than_an_earlier_one_is_found():
    assert len(check([write(1, 2, 4, b"c"), write(3, 4, 2)], [], HISTORY)) == 2


def test_watch_that_misses_repeats_or_reorders_is_found():
    first, second, third = HISTORY
    for events in ([first, third], [first, second, second, third], [second, first, third]):
        assert len(check([], [Watched(1, 4, events)], HISTORY)) == 1
