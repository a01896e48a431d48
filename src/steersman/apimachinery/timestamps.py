"""Times as objects carry them: RFC 3339 in UTC, whole seconds (``Time``) or six digits of a second (``MicroTime``)."""

from __future__ import annotations

from datetime import UTC, datetime


def format_time(moment: datetime) -> str:
    """``2006-01-02T15:04:05Z``; parts of a second are dropped. ``moment`` is aware."""
    return f"{_utc(moment).isoformat(timespec='seconds')}Z"


def format_micro_time(moment: datetime) -> str:
    """``2006-01-02T15:04:05.000000Z``. ``moment`` is aware."""
    return f"{_utc(moment).isoformat(timespec='microseconds')}Z"


def _utc(moment: datetime) -> datetime:
    """Without its zone, which the texts tell as ``Z``."""
    if moment.tzinfo is None:
        raise ValueError("a time without a zone means nothing")
    return moment.astimezone(UTC).replace(tzinfo=None)


def parse_time(text: str) -> datetime:
    """Either form, in any zone, as an aware moment in UTC. Raises ``ValueError``.

    For values that were decoded before; decoding itself is stricter and tells faults in upstream's words.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None or "T" not in text:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    return moment.astimezone(UTC)
