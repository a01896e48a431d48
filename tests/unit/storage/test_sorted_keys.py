from __future__ import annotations

from itertools import pairwise
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.storage.sorted_entries import SortedEntries

keys = st.text(
    alphabet=st.sampled_from(["/", "a", "b", "\0", "\ud7ff", "\ue000", "\U0010ffff"]), min_size=1, max_size=3
)
few_keys = st.integers(0, 40).map(lambda number: f"/k/{number:02d}")


@given(
    at_first=st.sets(few_keys | keys),
    changes=st.lists(st.tuples(st.booleans(), few_keys | keys, st.integers(0, 9)), max_size=120),
    reads=st.lists(st.tuples(st.just("") | few_keys | keys, st.just("") | few_keys | keys), max_size=5),
    chunk_max=st.integers(2, 9),
)
def test_it_holds_what_a_plain_sorted_list_holds(at_first, changes, reads, chunk_max):
    plain = {key: (key, -1) for key in at_first}
    entries = SortedEntries(itemgetter(0), sorted(plain.values()), chunk_max=chunk_max)
    for is_put, key, value in changes:
        if is_put:
            plain[key] = (key, value)
            entries.put((key, value))
        elif key in plain:
            del plain[key]
            entries.remove(key)
        else:
            with pytest.raises(KeyError):
                entries.remove(key)
    assert entries.between() == sorted(plain.values())
    for low, high in reads:
        expected = [entry for key, entry in sorted(plain.items()) if key >= low and (not high or key < high)]
        assert entries.between(low, high) == expected


@given(changes=st.lists(st.tuples(st.booleans(), few_keys), max_size=200), chunk_max=st.integers(2, 9))
def test_chunks_are_bounded_and_not_many(changes, chunk_max):
    entries: SortedEntries[str] = SortedEntries(str, chunk_max=chunk_max)
    present = set()
    for is_put, key in changes:
        if is_put:
            entries.put(key)
            present.add(key)
        elif key in present:
            entries.remove(key)
            present.remove(key)
        sizes = [len(chunk) for chunk in entries._chunks]
        assert len(entries._bounds) == len(sizes)
        assert max(sizes) <= chunk_max
        assert len(sizes) == 1 or min(sizes) > 0
        assert all(sum(pair) > chunk_max // 2 for pair in pairwise(sizes))


def test_entries_that_come_in_order_fill_their_chunks():
    entries: SortedEntries[str] = SortedEntries(str, chunk_max=4)
    for number in range(12):
        entries.put(f"{number:02d}")
    assert [len(chunk) for chunk in entries._chunks] == [4, 4, 4]


def test_what_is_read_is_a_list_of_its_own():
    given_entries = ["a", "b"]
    entries = SortedEntries(str, given_entries, chunk_max=8)
    read = entries.between()
    read.clear()
    given_entries.clear()
    entries.put("c")
    assert entries.between() == ["a", "b", "c"]


def test_a_range_that_ends_before_it_begins_is_empty():
    assert SortedEntries(str, ["a", "b", "c"]).between("c", "b") == []
