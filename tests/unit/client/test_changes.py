"""Two changes as one."""

import pytest

from steersman.client.changes import Added, Deleted, Updated, merged, vanishes


@pytest.mark.parametrize(
    ("first", "second", "one"),
    [
        (Added(1, is_initial=True), Updated(1, 2), Added(2, is_initial=True)),
        (Updated(1, 2), Updated(2, 3), Updated(1, 3)),
        (Updated(1, 2), Deleted(2), Deleted(2)),
        (Updated(1, 2), Deleted(2, final_state_unknown=True), Deleted(2, final_state_unknown=True)),
        (Deleted(1), Added(2), None),
        (Added(1), Deleted(1), None),
    ],
)
def test_what_one_may_hear_instead_of_two(first, second, one):
    assert merged(first, second) == one


def test_only_an_addition_with_its_deletion_vanishes():
    assert vanishes(Added(1), Deleted(1))
    assert not vanishes(Deleted(1), Added(2))
    assert not vanishes(Updated(1, 2), Deleted(2))


def test_the_latest_state_is_always_there():
    assert [change.latest for change in (Added(1), Updated(1, 2), Deleted(3))] == [1, 2, 3]
