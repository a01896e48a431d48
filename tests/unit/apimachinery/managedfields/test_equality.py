"""JSON equality for ownership."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.equality import equal_exactly


@pytest.mark.parametrize(("left", "right"), [(1, 1.0), ({"a": [1]}, {"a": [1.0]}), (None, None), ("a", "a"), ([], [])])
def test_equal_exactly_accepts_equal_json(left, right):
    assert equal_exactly(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, True), ({"a": [0]}, {"a": [False]}), (None, {}), ([], {}), ([1], [1, 2]), ({"a": 1}, {"b": 1})],
)
def test_equal_exactly_rejects_different_json(left, right):
    assert not equal_exactly(left, right)
