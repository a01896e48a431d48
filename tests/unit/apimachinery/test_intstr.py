"""Numbers and shares."""

from __future__ import annotations

import pytest

from steersman.apimachinery.intstr import percent, scaled_value


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [(3, 10, 3, 3), ("25%", 10, 3, 2), ("100%", 7, 7, 7), ("0%", 7, 0, 0), ("50%", 4, 2, 2), ("-50%", 3, -1, -2)],
)
def test_scaled_value_of_integers_and_percentages(value: int | str, total: int, up: int, down: int) -> None:
    assert scaled_value(value, total, round_up=True) == up
    assert scaled_value(value, total, round_up=False) == down


@pytest.mark.parametrize("value", ["many", "%", "2.5%", "9" * 30 + "%", "1%\n", ""])
def test_scaled_value_rejects_other_strings(value: str) -> None:
    assert percent(value) is None
    with pytest.raises(ValueError, match="invalid value for IntOrString"):
        scaled_value(value, 10, round_up=True)


def test_percent_of_an_integer_is_none() -> None:
    assert percent(25) is None
    assert percent("25%") == 25
