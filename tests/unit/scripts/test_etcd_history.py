"""The history checker finds what it is for."""

from __future__ import annotations

from scripts.etcd_history import Listed, Operation, Watched, check

from steersman.storage.store import Event

HISTORY = [Event("/k/1", b"a", 2, 2), Event("/k/2", b"b", 3, 3), Event("/k/1", b"c", 2, 4)]


def write(begin, end, revision, value=b"a", key="/k/1"):
    return Operation("write", key, begin, end, revision, value)


def read(begin, end, revision, key="/k/1"):
    values = {event.mod_revision: event.value for event in HISTORY}
    return Operation("read", key, begin, end, revision, values.get(revision, b""))


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


def test_read_of_a_state_that_was_never_stored_is_found():
    (fault,) = check([read(1, 2, 5)], [], HISTORY)
    assert "never stored" in fault


def test_write_with_a_smaller_revision_than_an_earlier_one_is_found():
    assert len(check([write(1, 2, 4, b"c"), write(3, 4, 2)], [], HISTORY)) == 2


def test_watch_that_misses_repeats_or_reorders_is_found():
    first, second, third = HISTORY
    for events in ([first, third], [first, second, second, third], [second, first, third]):
        assert len(check([], [Watched(1, 4, events)], HISTORY)) == 1


DELETED = [Event("/k/1", b"a", 2, 2), Event("/k/1", None, 2, 3), Event("/k/1", b"b", 5, 5)]


def delete(begin, end, revision, value=b"a"):
    return Operation("delete", "/k/1", begin, end, revision, value)


def test_absent_object_may_be_read_between_its_delete_and_its_next_creation():
    operations = [write(1, 2, 2), delete(3, 4, 2), read(5, 6, 0), write(7, 8, 5, b"b")]
    assert check(operations, [], DELETED) == []


def test_read_of_a_deleted_object_after_the_answer_to_the_delete_is_found():
    (fault,) = check([write(1, 2, 2), delete(3, 4, 2), read(5, 6, 2)], [], DELETED)
    assert "not linearizable" in fault


def test_absence_after_the_answer_to_a_write_is_found():
    (fault,) = check([write(1, 2, 5, b"b"), read(3, 4, 0)], [], DELETED)
    assert "not linearizable" in fault


def test_lost_acknowledged_delete_is_found():
    (fault,) = check([delete(1, 2, 5, b"b")], [], DELETED)
    assert "an acknowledged delete is lost" in fault


def test_list_that_mixes_states_is_found():
    assert check([], [], HISTORY, [Listed(3, {"/k/1": 2, "/k/2": 3}), Listed(4, {"/k/1": 4, "/k/2": 3})]) == []
    for keys in ({"/k/1": 4, "/k/2": 3}, {"/k/1": 2}, {"/k/1": 2, "/k/2": 3, "/k/3": 1}):
        assert len(check([], [], HISTORY, [Listed(3, keys)])) == 1
