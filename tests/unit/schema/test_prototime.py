"""Times between text and seconds, in all years that Go has."""

from datetime import UTC, datetime

import pytest

from steersman.schema.prototime import micro_time_text, time_text, timestamp


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", -1),
        ("0001-01-01T00:00:00Z", -62135596800),
        ("0000-12-31T23:59:59Z", -62135596801),
        ("-0001-12-31T00:00:00Z", -62167305600),
        ("10000-01-01T00:00:00Z", 253402300800),
        ("2024-02-29T12:34:56Z", 1709210096),
    ],
)
def test_time_text_and_timestamp_are_inverse(text, seconds):
    assert timestamp(text) == (seconds, 0)
    assert time_text(seconds) == text


@pytest.mark.parametrize("year", [1, 4, 100, 400, 999, 1900, 2000, 2023, 9999])
@pytest.mark.parametrize("day", [(1, 1), (2, 28), (3, 1), (12, 31)])
def test_timestamp_equals_datetime(year, day):
    moment = datetime(year, *day, 23, 59, 58, tzinfo=UTC)
    seconds = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    assert timestamp(moment.isoformat().replace("+00:00", "Z")) == (seconds, 0)
    assert time_text(seconds) == moment.isoformat().replace("+00:00", "Z")


def test_micro_time_text_has_six_decimals():
    assert micro_time_text(0, 1999) == "1970-01-01T00:00:00.000001Z"
    assert timestamp("1970-01-01T00:00:00.000001Z") == (0, 1000)


def test_timestamp_rejects_other_text():
    with pytest.raises(ValueError, match="not a time"):
        timestamp("2024-02-29T12:34:56+01:00")
