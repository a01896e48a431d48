"""Merging of consecutive changes."""

import pytest

from steersman.client.changes import Added, Deleted, Updated, cancels_out, coalesce


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
def test_coalesce_merges_two_changes(first, second, one):
    assert coalesce(first, second) == one


def test_cancels_out_only_addition_and_deletion():
    assert cancels_out(Added(1), Deleted(1))
    assert not cancels_out(Deleted(1), Added(2))
    assert not cancels_out(Updated(1, 2), Deleted(2))


def test_latest_is_the_newest_state():
    assert [change.latest for change in (Added(1), Updated(1, 2), Deleted(3))] == [1, 2, 3]
