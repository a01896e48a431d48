"""Validation of counters and IntOrString values."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

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


def test_check_none_negative_skips_absent_fields():
    assert error_texts(check_none_negative({"a": -1, "b": 0}, ("a", "b", "c"), P)) == [
        "status.a: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_check_none_above_rejects_greater_counts():
    counts = {"replicas": 2, "ready": 3, "available": 2}
    errors = check_none_above(counts, ("ready", "available", "updated"), P, limit="replicas", detail=ABOVE_REPLICAS)
    assert error_texts(errors) == ["status.ready: Invalid value: 3: cannot be greater than status.replicas"]


@pytest.mark.parametrize(("new", "old", "count"), [(1, 2, 1), (None, 1, 1), (2, 2, 0), (3, 2, 0), (None, None, 0)])
def test_check_not_decremented_rejects_decrease(new: int | None, old: int | None, count: int):
    errors = error_texts(check_not_decremented({"c": new}, {"c": old}, "c", P))
    assert errors == [f"status.c: Invalid value: {new or 0}: cannot be decremented"] * count


@pytest.mark.parametrize("value", [0, 3, "0%", "25%", "100%", "150%"])
def test_check_int_or_percent_accepts_integers_and_percentages(value: int | str):
    assert error_texts(check_int_or_percent(value, P)) == []


@pytest.mark.parametrize("value", ["25", "-1%", "a%", "", "2.5%"])
def test_check_int_or_percent_rejects_other_strings(value: str):
    (fault,) = error_texts(check_int_or_percent(value, P))
    assert fault.startswith(f'status: Invalid value: "{value}": a valid percent string must be a numeric string')


def test_check_int_or_percent_rejects_negative_integers():
    assert error_texts(check_int_or_percent(-1, P)) == ["status: Invalid value: -1: must be greater than or equal to 0"]


@pytest.mark.parametrize(("value", "count"), [("100%", 0), ("101%", 1), (101, 0), ("a", 0)])
def test_check_at_most_100_percent_rejects_greater_percentages(value: int | str, count: int):
    errors = error_texts(check_at_most_100_percent(value, P))
    assert errors == [f'status: Invalid value: "{value}": must not be greater than 100%'] * count


@pytest.mark.parametrize(("value", "nothing"), [(0, True), (1, False), ("0%", True), ("1%", False), ("50%", False)])
def test_is_zero_for_integers_and_percentages(value: int | str, nothing: bool):
    assert is_zero(value) is nothing
