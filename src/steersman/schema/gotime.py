"""Times as Go parses and writes them: `metav1.Time` (seconds) and `metav1.MicroTime` (six digits), always in UTC.

Rules and error texts are those of Go's `time.Parse` with the layouts of RFC 3339.
"""

from __future__ import annotations

import json
import re
from calendar import monthrange
from datetime import datetime, timedelta
from typing import Final

SECONDS_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
MICROS_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"

_UTC_SECONDS: Final = re.compile(
    r"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII
)
_UTC_MICROS: Final = re.compile(_UTC_SECONDS.pattern[:-1] + r"\.\d{6}Z", re.ASCII)
_ZERO: Final = datetime(1, 1, 1)  # noqa: DTZ001 — all arithmetic here is in UTC, without zones
_FRACTION: Final = re.compile(r"[.,]\d+", re.ASCII)
#: Layout element → name of its range in errors, minimum, first invalid value.
_RANGES: Final = {"01": ("month", 1, 13), "15": ("hour", 0, 24), "04": ("minute", 0, 60), "05": ("second", 0, 60)}


def normalize_seconds(text: str) -> str | None:
    """Return RFC 3339 in the form of `metav1.Time`, None for Go's zero time. Raises ValueError with Go's text."""
    if _UTC_SECONDS.fullmatch(text) and not text.startswith("0001-01-01T00:00:00"):
        return text
    moment = _parse(text, SECONDS_LAYOUT)
    return None if moment == _ZERO else moment.isoformat(timespec="seconds") + "Z"


def normalize_micros(text: str) -> str | None:
    """Return RFC 3339 in the form of `metav1.MicroTime`, with six decimals. Raises ValueError with Go's text."""
    if _UTC_MICROS.fullmatch(text) and not text.startswith("0001-01-01T00:00:00"):
        return text
    moment = _parse(text, MICROS_LAYOUT)
    return None if moment == _ZERO else moment.isoformat(timespec="microseconds") + "Z"


def _parse(text: str, layout: str) -> datetime:
    """Return the time in UTC, as a naive datetime."""
    parser = _Parser(text, layout)
    year = parser.number("2006", digits=4)
    parser.literal("-")
    month = parser.number("01")
    parser.literal("-")
    day = parser.number("02")
    parser.literal("T")
    hour = parser.number("15", one_digit_allowed=True)
    parser.literal(":")
    minute = parser.number("04")
    parser.literal(":")
    second = parser.number("05")
    micros = parser.fraction()
    offset = parser.offset()
    if parser.rest:
        raise parser.error(f": extra text: {json.dumps(parser.rest)}")
    if not 1 <= day <= monthrange(year, month)[1]:
        raise parser.error(": day out of range")
    try:
        return datetime(year, month, day, hour, minute, second, micros) - offset  # noqa: DTZ001 — in UTC by now
    except (ValueError, OverflowError):
        raise parser.error(": year is not in the range [1,9999]") from None


class _Parser:
    """Parser that consumes a text element by element; every method raises ValueError with Go's text."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.rest = text

    def error(self, message: str) -> ValueError:
        return ValueError(f"parsing time {json.dumps(self.text)}{message}")

    def bad(self, element: str) -> ValueError:
        return self.error(f' as "{self.layout}": cannot parse {json.dumps(self.rest)} as "{element}"')

    def literal(self, expected: str) -> None:
        if not self.rest.startswith(expected):
            raise self.bad(expected)
        self.rest = self.rest[len(expected) :]

    def number(self, element: str, *, digits: int = 2, one_digit_allowed: bool = False) -> int:
        digits_text = self.rest[:digits]
        if one_digit_allowed and not _is_digits(digits_text, 2):
            digits_text = self.rest[:1]
            digits = 1
        if not _is_digits(digits_text, digits):
            raise self.bad(element)
        self.rest = self.rest[digits:]
        value = int(digits_text)
        if element in _RANGES:
            name, low, high = _RANGES[element]
            if not low <= value < high:
                raise self.error(f": {name} out of range")
        return value

    def fraction(self) -> int:
        """Return microseconds; the seconds layout takes any number of digits, the other exactly six."""
        if self.layout == MICROS_LAYOUT:
            if self.rest[:1] not in {".", ","} or not _is_digits(self.rest[1:7], 6):
                raise self.bad(".000000")
            micros, self.rest = int(self.rest[1:7]), self.rest[7:]
            return micros
        match = _FRACTION.match(self.rest)
        if match:
            self.rest = self.rest[match.end() :]
        return 0

    def offset(self) -> timedelta:
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return timedelta()
        sign, hours, colon, minutes = self.rest[:1], self.rest[1:3], self.rest[3:4], self.rest[4:6]
        if sign not in {"+", "-"} or colon != ":" or not _is_digits(hours, 2) or not _is_digits(minutes, 2):
            raise self.bad("Z07:00")
        if int(hours) > 24:
            raise self.error(": time zone offset hour out of range")
        if int(minutes) > 60:
            raise self.error(": time zone offset minute out of range")
        self.rest = self.rest[6:]
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return -offset if sign == "-" else offset


def _is_digits(text: str, count: int) -> bool:
    return len(text) == count and text.isascii() and text.isdigit()
