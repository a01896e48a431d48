"""Counts and shares."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import told

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.counts import (
    ABOVE_REPLICAS,
    check_at_most_100_percent,
    check_int_or_percent,
    check_none_above,
    check_none_negative,
    check_not_decremented,
    is_zero,
)

P = Path("status")


def test_counts_are_not_negative_where_they_are_given():
    assert told(check_none_negative({"a": -1, "b": 0}, ("a", "b", "c"), P)) == [
        "status.a: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_no_part_is_more_than_the_whole():
    counts = {"replicas": 2, "ready": 3, "available": 2}
    errors = check_none_above(counts, ("ready", "available", "updated"), P, limit="replicas", detail=ABOVE_REPLICAS)
    assert told(errors) == ["status.ready: Invalid value: 3: cannot be greater than status.replicas"]


@pytest.mark.parametrize(("new", "old", "count"), [(1, 2, 1), (None, 1, 1), (2, 2, 0), (3, 2, 0), (None, None, 0)])
def test_some_counts_only_grow(new: int | None, old: int | None, count: int):
    errors = told(check_not_decremented({"c": new}, {"c": old}, "c", P))
    assert errors == [f"status.c: Invalid value: {new or 0}: cannot be decremented"] * count


@pytest.mark.parametrize("value", [0, 3, "0%", "25%", "100%", "150%"])
def test_a_number_or_a_percentage_will_do(value: int | str):
    assert told(check_int_or_percent(value, P)) == []


@pytest.mark.parametrize("value", ["25", "-1%", "a%", "", "2.5%"])
def test_other_texts_are_no_share(value: str):
    (fault,) = told(check_int_or_percent(value, P))
    assert fault.startswith(f'status: Invalid value: "{value}": a valid percent string must be a numeric string')


def test_a_count_is_not_negative():
    assert told(check_int_or_percent(-1, P)) == ["status: Invalid value: -1: must be greater than or equal to 0"]


@pytest.mark.parametrize(("value", "count"), [("100%", 0), ("101%", 1), (101, 0), ("a", 0)])
def test_a_share_is_at_most_everything(value: int | str, count: int):
    errors = told(check_at_most_100_percent(value, P))
    assert errors == [f'status: Invalid value: "{value}": must not be greater than 100%'] * count


@pytest.mark.parametrize(("value", "nothing"), [(0, True), (1, False), ("0%", True), ("1%", False), ("50%", False)])
def test_nothing_is_a_zero_of_either_form(value: int | str, nothing: bool):
    assert is_zero(value) is nothing
