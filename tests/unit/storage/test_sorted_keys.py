from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.storage.sorted_keys import SortedKeys

some_keys = st.text(
    alphabet=st.sampled_from(["/", "a", "b", "\0", "\ud7ff", "\ue000", "\U0010ffff"]), min_size=1, max_size=3
)
few_keys = st.integers(0, 40).map(lambda number: f"/k/{number:02d}")


@given(
    at_first=st.sets(few_keys | some_keys),
    changes=st.lists(st.tuples(st.booleans(), few_keys | some_keys), max_size=120),
    reads=st.lists(st.tuples(st.just("") | few_keys | some_keys, st.just("") | few_keys | some_keys), max_size=5),
    chunk_max=st.integers(2, 9),
)
def test_sorted_keys_equal_a_sorted_list(at_first, changes, reads, chunk_max):
    plain = set(at_first)
    keys = SortedKeys(sorted(plain), chunk_max=chunk_max)
    for is_there, key in changes:
        if is_there and key not in plain:
            plain.add(key)
            keys.add(key)
        elif not is_there and key in plain:
            plain.remove(key)
            keys.remove(key)
        elif not is_there:
            with pytest.raises(KeyError):
                keys.remove(key)
    assert keys.between() == sorted(plain)
    for low, high in reads:
        assert keys.between(low, high) == [key for key in sorted(plain) if key >= low and (not high or key < high)]


@given(changes=st.lists(st.tuples(st.booleans(), few_keys), max_size=200), chunk_max=st.integers(2, 9))
def test_chunks_are_bounded_in_size_and_number(changes, chunk_max):
    keys = SortedKeys(chunk_max=chunk_max)
    present = set()
    for is_there, key in changes:
        if is_there and key not in present:
            keys.add(key)
            present.add(key)
        elif not is_there and key in present:
            keys.remove(key)
            present.remove(key)
        sizes = [len(chunk) for chunk in keys._chunks]
        assert len(keys._bounds) == len(sizes)
        assert max(sizes) <= chunk_max
        assert len(sizes) == 1 or min(sizes) > 0
        assert all(sum(pair) > chunk_max // 2 for pair in pairwise(sizes))


def test_ascending_keys_fill_their_chunks():
    keys = SortedKeys(chunk_max=4)
    for number in range(12):
        keys.add(f"{number:02d}")
    assert [len(chunk) for chunk in keys._chunks] == [4, 4, 4]


def test_between_returns_a_copy():
    given_keys = ["a", "b"]
    keys = SortedKeys(given_keys, chunk_max=8)
    read = keys.between()
    read.clear()
    given_keys.clear()
    keys.add("c")
    assert keys.between() == ["a", "b", "c"]


def test_between_of_an_inverted_range_is_empty():
    assert SortedKeys(["a", "b", "c"]).between("c", "b") == []
