"""Durations as Go reads them: ``300ms``, ``1h15m30.5s`` (``time.ParseDuration``), with Go's words for what is wrong."""

from __future__ import annotations

import re
from typing import Final

from steersman.apimachinery.gotext import quote

_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)")


def parse_duration(text: str) -> float:
    """Seconds. Raises ValueError with Go's message."""
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
