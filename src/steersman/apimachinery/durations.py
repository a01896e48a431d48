"""Durations in Go's text format: ``300ms``, ``1h15m30.5s``. Upstream: ``time.ParseDuration``, ``Duration.String``."""

from __future__ import annotations

import re
from typing import Final

from steersman.apimachinery.gotext import quote

_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)")


def parse_duration(text: str) -> float:
    """Return the seconds of a duration text. Raises ValueError with Go's message."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0.0
    total, at = 0.0, 0
    while at < len(rest):
        match = _PART.match(rest, at)
        if match is None:
            break
        number, unit = match.groups()
        if not unit:
            raise ValueError(f"time: missing unit in duration {quote(text)}")
        if unit not in _SECONDS:
            raise ValueError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
        total += float(number) * _SECONDS[unit]
        at = match.end()
    if not rest or at < len(rest):
        raise ValueError(f"time: invalid duration {quote(text)}")
    return -total if text.startswith("-") else total


def format_duration(seconds: float) -> str:
    """Format seconds as Go's ``Duration.String``: hours, minutes, seconds or one smaller unit: ``1h15m30.5s``."""
    nanoseconds = round(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 and nanoseconds else ""
    if nanoseconds < 1_000_000_000:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if nanoseconds >= size:
                return f"{sign}{_decimal(nanoseconds, size)}{unit}"
        return "0s"
    minutes, rest = divmod(nanoseconds, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 1_000_000_000)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def _decimal(count: int, unit: int) -> str:
    """Return ``count / unit`` without trailing zeros."""
    whole, rest = divmod(count, unit)
    digits = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)
