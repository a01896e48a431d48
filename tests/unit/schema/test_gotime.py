from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.schema.gotime import normalize_micros, normalize_seconds

SECONDS = '"2006-01-02T15:04:05Z07:00"'
MICROS = '"2006-01-02T15:04:05.000000Z07:00"'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
        ("2024-01-01T01:30:00+02:00", "2023-12-31T23:30:00Z"),
        ("2024-01-01T00:00:00-00:30", "2024-01-01T00:30:00Z"),
        ("2024-01-01T00:00:00.999999999Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00Z"),
        ("2024-01-31T7:00:00Z", "2024-01-31T07:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_normalize_seconds_writes_utc_with_whole_seconds(text, written):
    assert normalize_seconds(text) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-01-01T00:00:00.000001Z", "2024-01-01T00:00:00.000001Z"),
        ("2024-01-01T00:00:00.100000+01:00", "2023-12-31T23:00:00.100000Z"),
        ("2024-01-29T00:00:00.000000Z", "2024-01-29T00:00:00.000000Z"),
        ("0001-01-01T00:00:00.000000Z", None),
    ],
)
def test_normalize_micros_keeps_six_decimals(text, written):
    assert normalize_micros(text) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yesterday", f'parsing time "yesterday" as {SECONDS}: cannot parse "yesterday" as "2006"'),
        ("", f'parsing time "" as {SECONDS}: cannot parse "" as "2006"'),
        ("2024-01-01", f'parsing time "2024-01-01" as {SECONDS}: cannot parse "" as "T"'),
        ("2024/01/01", f'parsing time "2024/01/01" as {SECONDS}: cannot parse "/01/01" as "-"'),
        ("2024-13-01T00:00:00Z", 'parsing time "2024-13-01T00:00:00Z": month out of range'),
        ("2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'),
        ("2024-01-01T24:00:00Z", 'parsing time "2024-01-01T24:00:00Z": hour out of range'),
        ("2024-01-01T00:60:00Z", 'parsing time "2024-01-01T00:60:00Z": minute out of range'),
        ("2024-01-01T00:00:60Z", 'parsing time "2024-01-01T00:00:60Z": second out of range'),
        ("2024-01-01T00:00:00", f'parsing time "2024-01-01T00:00:00" as {SECONDS}: cannot parse "" as "Z07:00"'),
        ("2024-01-01T00:00:00+25:00", 'parsing time "2024-01-01T00:00:00+25:00": time zone offset hour out of range'),
        ("2024-01-01T00:00:00Zjunk", 'parsing time "2024-01-01T00:00:00Zjunk": extra text: "junk"'),
    ],
)
def test_normalize_seconds_raises_with_the_message_of_go(text, message):
    with pytest.raises(ValueError) as caught:
        normalize_seconds(text)
    assert str(caught.value) == message


def test_normalize_micros_requires_a_fraction():
    with pytest.raises(ValueError) as caught:
        normalize_micros("2024-01-01T00:00:00Z")
    message = f'parsing time "2024-01-01T00:00:00Z" as {MICROS}: cannot parse "Z" as ".000000"'
    assert str(caught.value) == message


@given(st.datetimes(), st.integers(-23 * 60, 23 * 60))
def test_normalize_is_idempotent(moment, offset):
    sign = "-" if offset < 0 else "+"
    zone = f"{sign}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
    text = moment.replace(year=max(2, min(moment.year, 9998))).isoformat(timespec="microseconds") + zone
    once = normalize_micros(text)
    assert normalize_micros(once) == once


def outcome(text):
    try:
        return normalize_seconds(text) or "zero"
    except ValueError as error:
        return str(error)


@given(st.text(alphabet="0123456789-T:Z.+, x", max_size=30))
def test_normalize_of_any_text_returns_or_raises_value_error(text):
    assert re.fullmatch(r"zero|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|parsing time .*", outcome(text))
