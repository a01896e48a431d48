from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.storage.keys import SquashedPrefixes, ancestors, overlap, prefix_end

text = st.text(alphabet=st.sampled_from(["/", "a", "b", "\ud7ff", "\ue000", "\U0010ffff"]), max_size=5)


@given(prefix=text, key=text)
def test_a_key_is_in_the_range_of_a_prefix_exactly_if_it_starts_with_it(prefix, key):
    end = prefix_end(prefix)
    assert (key >= prefix and (not end or key < end)) == key.startswith(prefix)


@given(first=text, second=text)
def test_strings_sort_as_their_bytes_do(first, second):
    assert (first < second) == (first.encode() < second.encode())


def test_the_end_of_a_prefix_is_its_successor():
    assert prefix_end("/a/") == "/a0"
    assert prefix_end("") == ""
    assert prefix_end("a\U0010ffff") == "b"


def test_the_ancestors_of_a_key_are_the_prefixes_that_end_in_a_slash():
    assert list(ancestors("/registry/pods/default/x")) == [
        "/",
        "/registry/",
        "/registry/pods/",
        "/registry/pods/default/",
    ]
    assert list(ancestors("x")) == []
    assert list(ancestors("x/")) == ["x/"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("/a/", "/a/b/", True), ("/a/b/", "/a/", True), ("/a/", "/b/", False), ("", "/", True)],
)
def test_prefixes_overlap_when_one_starts_with_the_other(first, second, expected):
    assert overlap(first, second) is expected


def test_each_squashed_prefix_has_its_own_compact_revision():
    squashed = SquashedPrefixes(["/a/", "/b/"])
    squashed.overwritten("/a/x", 7)
    squashed.overwritten("/b/x", 9)
    squashed.overwritten("/c/x", 11)
    prefixes = ["/a/", "/a/x", "/b/", "/", "/c/"]
    assert [squashed.compact_revision(prefix) for prefix in prefixes] == [7, 7, 9, 9, 0]
