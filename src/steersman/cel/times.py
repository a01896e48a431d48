"""Durations and timestamps: parsing, formatting and accessors with time zones."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from steersman.cel.values import NANOS, Duration, EvalError, Timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": NANOS,
    "m": 60 * NANOS,
    "h": 3600 * NANOS,
}
_DURATION: Final = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+")
_PART: Final = re.compile(r"([0-9]*)\.?([0-9]*)(ns|us|µs|μs|ms|s|m|h)")
_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_OFFSET: Final = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> Duration:
    """Parse a Go duration (``1h30m``). Raises EvalError."""
    if text.lstrip("+-") == "0":
        return Duration(0)
    if not _DURATION.fullmatch(text) or len(text) > 200:
        raise EvalError(f'time: invalid duration "{text}"')
    total = 0
    for whole, fraction, unit in _PART.findall(text):
        total += int(whole or "0") * _UNITS[unit]
        if fraction:
            total += int(fraction) * _UNITS[unit] // 10 ** len(fraction)
    return Duration(-total if text.startswith("-") else total)


def show_duration(value: Duration) -> str:
    """Format a duration in seconds with the digits needed: ``90s``, ``1.5s``."""
    nanos = abs(value.nanos)
    whole, rest = divmod(nanos, NANOS)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if value.nanos < 0 else ''}{whole}{fraction}s"


def parse_timestamp(text: str) -> Timestamp:
    """Parse RFC 3339 with nanoseconds. Raises EvalError."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise EvalError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}" as "2006"')
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise EvalError(f'parsing time "{text}": value out of range') from None
    nanos = int((match[7] or "0").ljust(9, "0")[:9])
    zone = match[8]
    offset = 0
    if zone not in "Zz":
        sign = -1 if zone[0] == "-" else 1
        offset = sign * (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60)
    since = moment - _EPOCH
    return Timestamp((since.days * 86400 + since.seconds - offset) * NANOS + nanos)


def show_timestamp(value: Timestamp) -> str:
    """Format as RFC 3339 in UTC with the digits needed."""
    seconds, nanos = divmod(value.nanos, NANOS)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{moment.strftime('%Y').zfill(4)}{moment.strftime('-%m-%dT%H:%M:%S')}{fraction}Z"


def _in_zone(value: Timestamp, zone: str) -> datetime:
    moment = _EPOCH + timedelta(seconds=value.nanos // NANOS)
    try:
        return moment.astimezone(_zone(zone))
    except OverflowError:
        raise EvalError("timestamp overflow") from None


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC"):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset:
        span = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        if span >= timedelta(days=1):
            raise EvalError(f"unknown time zone {name}")
        return timezone(-span if offset[1] == "-" else span)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise EvalError(f"unknown time zone {name}") from None


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def of(value: Timestamp, zone: str = "UTC") -> int:
        return read(_in_zone(value, zone))

    return of


#: Timestamp accessors by function name.
PARTS: Final[dict[str, Callable[..., int]]] = {
    "getFullYear": _part(lambda moment: moment.year),
    "getMonth": _part(lambda moment: moment.month - 1),
    "getDayOfYear": _part(lambda moment: moment.timetuple().tm_yday - 1),
    "getDate": _part(lambda moment: moment.day),
    "getDayOfMonth": _part(lambda moment: moment.day - 1),
    "getDayOfWeek": _part(lambda moment: moment.isoweekday() % 7),
    "getHours": _part(lambda moment: moment.hour),
    "getMinutes": _part(lambda moment: moment.minute),
    "getSeconds": _part(lambda moment: moment.second),
}


def milliseconds(value: Timestamp, zone: str = "UTC") -> int:
    """Return the milliseconds within the second."""
    _zone(zone)
    return value.nanos % NANOS // 10**6


def _whole(unit_nanos: int) -> Callable[[Duration], int]:
    def of(value: Duration) -> int:
        count = abs(value.nanos) // unit_nanos
        return -count if value.nanos < 0 else count

    return of


#: Duration accessors by function name.
DURATION_PARTS: Final[dict[str, Callable[[Duration], int]]] = {
    "getHours": _whole(3600 * NANOS),
    "getMinutes": _whole(60 * NANOS),
    "getSeconds": _whole(NANOS),
    "getMilliseconds": _whole(10**6),
}
