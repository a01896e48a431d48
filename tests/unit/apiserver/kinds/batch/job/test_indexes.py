from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.kinds.batch.job.indexes import IndexesError, count_indexes, first_overlap, parse_interval


@pytest.mark.parametrize(("text", "interval"), [("3", (3, 3)), ("3-5", (3, 5)), ("0", (0, 0))])
def test_parse_interval_is_inclusive(text, interval):
    assert parse_interval(text, 10) == interval


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", 'cannot convert string to integer for index: ""'),
        ("a", 'cannot convert string to integer for index: "a"'),
        ("10", 'too large index: "10"'),
        ("9223372036854775807", 'too large index: "9223372036854775807"'),
        ("9223372036854775808", 'cannot convert string to integer for index: "9223372036854775808"'),
        ("3-10", 'too large index: "10"'),
        ("5-3", "non-increasing order, previous: 5, current: 3"),
        ("3-3", "non-increasing order, previous: 3, current: 3"),
        ("2,1", "non-increasing order, previous: 2, current: 1"),
        ("1,1", "non-increasing order, previous: 1, current: 1"),
        ("1,,2", 'cannot convert string to integer for index: ""'),
        (
            "1-2-3",
            (
                'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated'
                " by '-'"
            ),
        ),
    ],
)
def test_count_indexes_raises_for_invalid_sets(text, fault):
    with pytest.raises(IndexesError) as caught:
        count_indexes(text or ",", 10)
    assert str(caught.value) == fault


@pytest.mark.parametrize(("text", "count"), [("", 0), ("4", 1), ("0-2,4", 4), ("0-9", 10)])
def test_count_indexes_counts(text, count):
    assert count_indexes(text, 10) == count


@pytest.mark.parametrize(
    ("left", "right", "index"),
    [("1,3-5", "0,2,6", None), ("1,3-5", "5-7", 5), ("0-9", "4", 4), ("", "1", None), ("1,x,3", "3", 3)],
)
def test_first_overlap_returns_first_common_index(left, right, index):
    assert first_overlap(left, right, 10) == index


SETS = st.sets(st.integers(0, 30), max_size=10)


@given(SETS, SETS)
def test_first_overlap_equals_set_intersection(left, right):
    texts = [",".join(map(str, sorted(indexes))) for indexes in (left, right)]
    assert first_overlap(*texts, 31) == min(left & right, default=None)
