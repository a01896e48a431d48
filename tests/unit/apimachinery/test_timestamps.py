"""Times as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.timestamps import add_seconds, format_micro_time, format_time, parse_time

MOMENT = datetime(2024, 2, 3, 4, 5, 6, 789, tzinfo=UTC)


def test_format_time_has_whole_seconds() -> None:
    assert format_time(MOMENT) == "2024-02-03T04:05:06Z"


def test_format_micro_time_has_six_decimals() -> None:
    assert format_micro_time(MOMENT) == "2024-02-03T04:05:06.000789Z"


def test_format_time_converts_to_utc() -> None:
    assert format_time(MOMENT.astimezone(timezone(timedelta(hours=2)))) == "2024-02-03T04:05:06Z"
    assert parse_time("2024-02-03T06:05:06+02:00") == datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)


def test_format_time_rejects_naive_datetimes() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        format_time(datetime(2024, 1, 1))  # noqa: DTZ001 — that is the point


def test_add_seconds_stays_within_the_calendar() -> None:
    assert add_seconds(MOMENT, -1.5) == MOMENT - timedelta(seconds=1.5)
    assert add_seconds(MOMENT, 2**63 - 1) == datetime.max.replace(tzinfo=UTC)
    assert add_seconds(MOMENT, -(2**63)) == datetime.min.replace(tzinfo=UTC)
    assert add_seconds(datetime.max.replace(tzinfo=UTC), 1) == datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "yesterday", "0001-01-01T00:00:00+01:00"]
)
def test_parse_time_rejects_other_texts(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_parse_time_restores_micro_times(moment: datetime) -> None:
    assert parse_time(format_micro_time(moment)) == moment
    assert parse_time(format_time(moment)) == moment.replace(microsecond=0)
