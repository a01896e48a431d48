from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.storage.keys import SquashedPrefixes, ancestors, overlap, prefix_end

text = st.text(alphabet=st.sampled_from(["/", "a", "b", "\ud7ff", "\ue000", "\U0010ffff"]), max_size=5)


@given(prefix=text, key=text)
def test_prefix_range_contains_exactly_the_keys_with_the_prefix(prefix, key):
    end = prefix_end(prefix)
    assert (key >= prefix and (not end or key < end)) == key.startswith(prefix)


@given(first=text, second=text)
def test_strings_sort_like_their_utf_8_bytes(first, second):
    assert (first < second) == (first.encode() < second.encode())


def test_prefix_end_is_the_successor():
    assert prefix_end("/a/") == "/a0"
    assert prefix_end("") == ""
    assert prefix_end("a\U0010ffff") == "b"


def test_ancestors_are_the_prefixes_that_end_in_a_slash():
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
def test_overlap_requires_a_common_prefix(first, second, expected):
    assert overlap(first, second) is expected


def test_squashed_prefixes_have_separate_compact_revisions():
    squashed = SquashedPrefixes(["/a/", "/b/"])
    squashed.overwritten("/a/x", 7)
    squashed.overwritten("/b/x", 9)
    squashed.overwritten("/c/x", 11)
    prefixes = ["/a/", "/a/x", "/b/", "/", "/c/"]
    assert [squashed.compact_revision(prefix) for prefix in prefixes] == [7, 7, 9, 9, 0]
