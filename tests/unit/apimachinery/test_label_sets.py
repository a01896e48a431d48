"""Bound of label sets."""

from steersman.apimachinery.label_sets import LABEL_SETS_MAX, make_room


def test_oldest_label_set_makes_room_for_a_new_one():
    table = {(number,): number for number in range(LABEL_SETS_MAX)}
    make_room(table, (5,))
    assert len(table) == LABEL_SETS_MAX
    make_room(table, ("new",))
    assert len(table) == LABEL_SETS_MAX - 1
    assert (0,) not in table


def test_table_that_is_not_full_keeps_all():
    table = {(1,): 1}
    make_room(table, (2,))
    assert table == {(1,): 1}
