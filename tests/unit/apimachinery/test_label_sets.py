"""Values by label set."""

from steersman.apimachinery.label_sets import LABEL_SETS_MAX, count, hash_label, make_room, observe


def full_table(value):
    return {(number,): value for number in range(LABEL_SETS_MAX)}


def test_oldest_label_set_makes_room_for_a_new_one():
    table = full_table(0)
    make_room(table, (5,))
    assert len(table) == LABEL_SETS_MAX
    make_room(table, ("new",))
    assert len(table) == LABEL_SETS_MAX - 1
    assert (0,) not in table


def test_table_that_is_not_full_keeps_all():
    table = {(1,): 1}
    make_room(table, (2,))
    assert table == {(1,): 1}


def test_count_adds_to_the_counter_of_a_label_set():
    table = full_table(7)
    count(table, (1,))
    count(table, ("new",), 3)
    assert (table[1,], table["new",], len(table)) == (8, 3, LABEL_SETS_MAX)


def test_observe_counts_in_the_histogram_of_a_label_set():
    table = {}
    observe(table, ("a",), 0.5, (1.0,))
    observe(table, ("a",), 2.0, (1.0,))
    assert table["a",].buckets() == [("1", 1), ("+Inf", 2)]


def test_hash_label_is_empty_for_an_empty_text():
    assert hash_label(b"") == ""
    assert hash_label(b"a").startswith("sha256:ca978112")
