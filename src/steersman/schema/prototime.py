"""``metav1.Time`` and ``MicroTime`` between RFC 3339 text and the seconds and nanoseconds of protobuf.

Go's times have years outside 1 to 9999, which `datetime` does not support, so dates are computed from days since 1970.
"""

from __future__ import annotations

import re
from typing import Final

_TEXT: Final = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
_DAY_SECONDS: Final = 86400
#: Days from 0000-03-01, the first day of a 400-year era, to 1970-01-01.
_EPOCH_DAYS: Final = 719468
_ERA_DAYS: Final = 146097


def timestamp(text: str) -> tuple[int, int]:
    """Return the seconds since 1970 and the nanoseconds. Raises ValueError for text in another form than Go's."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time in UTC: {text}")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    days = _days(year, month, day)
    nanos = int((match[7] or "").ljust(9, "0"))
    return days * _DAY_SECONDS + hour * 3600 + minute * 60 + second, nanos


def time_text(seconds: int) -> str:
    """Return the time as ``metav1.Time`` writes it in JSON."""
    days, rest = divmod(seconds, _DAY_SECONDS)
    year, month, day = _civil(days)
    hour, minute = rest // 3600, rest // 60 % 60
    # Go pads the digits of a year to four, without its sign.
    years = f"{year:04d}" if year >= 0 else f"-{-year:04d}"
    return f"{years}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{rest % 60:02d}Z"


def micro_time_text(seconds: int, nanos: int) -> str:
    """Return the time as ``metav1.MicroTime`` writes it in JSON."""
    carried, nanos = divmod(nanos, 1_000_000_000)
    return f"{time_text(seconds + carried)[:-1]}.{nanos // 1000:06d}Z"


def _days(year: int, month: int, day: int) -> int:
    """Return days since 1970-01-01 in the proleptic Gregorian calendar."""
    if month <= 2:
        year -= 1
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _ERA_DAYS + day_of_era - _EPOCH_DAYS


def _civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day; the inverse of ``_days``."""
    era, day_of_era = divmod(days + _EPOCH_DAYS, _ERA_DAYS)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return era * 400 + year_of_era + (month <= 2), month, day
