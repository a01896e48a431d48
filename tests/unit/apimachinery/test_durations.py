"""Durations as Go reads them."""

import pytest

from steersman.apimachinery.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("5s", 5), ("1h15m30.5s", 4530.5), ("300ms", 0.3), (".5m", 30), ("-1s", -1), ("+2s", 2), ("10us", 1e-5)],
)
def test_parse_duration_sums_units(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", 'time: missing unit in duration "5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("", 'time: invalid duration ""'),
        ("s", 'time: invalid duration "s"'),
        ("-", 'time: invalid duration "-"'),
    ],
)
def test_parse_duration_raises_with_the_message_of_go(text, message):
    with pytest.raises(ValueError, match="time: ") as error:
        parse_duration(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (2e-9, "2ns"),
        (752.41e-6, "752.41µs"),
        (0.0136, "13.6ms"),
        (1, "1s"),
        (59.5, "59.5s"),
        (60, "1m0s"),
        (601, "10m1s"),
        (4530.5, "1h15m30.5s"),
        (-0.25, "-250ms"),
        (1.000000001, "1.000000001s"),
    ],
)
def test_format_duration_equals_go(seconds, text):
    assert format_duration(seconds) == text
