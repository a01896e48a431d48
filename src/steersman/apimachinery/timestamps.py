"""API timestamps: RFC 3339 in UTC with whole seconds (``metav1.Time``) or six decimals (``metav1.MicroTime``)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

#: First and last time of ``add_seconds``: API times have four digits for the year.
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


def format_time(moment: datetime) -> str:
    """Format an aware datetime as ``2006-01-02T15:04:05Z``; fractions of a second are dropped."""
    return f"{_utc(moment).isoformat(timespec='seconds')}Z"


def format_micro_time(moment: datetime) -> str:
    """Format an aware datetime as ``2006-01-02T15:04:05.000000Z``."""
    return f"{_utc(moment).isoformat(timespec='microseconds')}Z"


def _utc(moment: datetime) -> datetime:
    """Convert to UTC without a zone, which the formats write as ``Z``."""
    if moment.tzinfo is None:
        raise ValueError("a time without a zone means nothing")
    return moment.astimezone(UTC).replace(tzinfo=None)


def parse_time(text: str) -> datetime:
    """Parse either form, in any zone, to an aware datetime in UTC. Raises ``ValueError``.

    For values that were decoded before; decoding itself is stricter and has upstream's messages.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None or "T" not in text:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"not within the years 1 to 9999: {text!r}") from None


def add_seconds(moment: datetime, seconds: float) -> datetime:
    """Add any number of seconds, as clients write them, to an aware datetime; the sum stays within the years 1 to 9999."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return _LAST if seconds > 0 else _FIRST
