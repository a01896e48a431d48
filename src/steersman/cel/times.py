"""Durations and timestamps: parsing, formatting and accessors with time zones."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from steersman.apimachinery.gotext import quote
from steersman.cel.values import INT_MAX, NANOS, Duration, EvalError, Timestamp

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
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
#: Largest offset of a time zone, in hours and minutes.
_OFFSET_MAX: Final = (24, 60)
#: Minutes of a day.
_DAY: Final = 24 * 60
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def conversion_error(target: str) -> EvalError:
    """Return the error of a text that is not the form of a type."""
    return EvalError(f"type conversion error from 'string' to '{target}'")


def parse_duration(text: str) -> Duration:
    """Parse a Go duration (``1h30m``). Raises EvalError."""
    if (text[1:] if text[:1] in ("+", "-") else text) == "0":
        return Duration(0)
    if not _DURATION.fullmatch(text) or len(text) > 200:
        raise conversion_error("google.protobuf.Duration")
    total = 0
    for whole, fraction, unit in _PART.findall(text):
        total += int(whole or "0") * _UNITS[unit]
        if fraction:
            total += int(fraction) * _UNITS[unit] // 10 ** len(fraction)
    if total > INT_MAX + text.startswith("-"):
        raise conversion_error("google.protobuf.Duration")
    return Duration(-total if text.startswith("-") else total)


def show_duration(value: Duration) -> str:
    """Format a duration as seconds, a double of the fewest digits without an exponent: ``90s``, ``1.5s``."""
    whole, rest = divmod(abs(value.nanos), NANOS)
    seconds = format(Decimal(repr(whole + rest / NANOS)), "f").removesuffix(".0")
    return f"{'-' if value.nanos < 0 else ''}{seconds}s"


def parse_timestamp(text: str) -> Timestamp:
    """Parse RFC 3339 with nanoseconds, as Go's ``time.Parse``. Raises EvalError."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise conversion_error("google.protobuf.Timestamp")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    hours, minutes = (int(match[9]), int(match[10])) if match[8] else (0, 0)
    try:
        # Year 0 is a leap year, as year 4 is.
        moment = datetime(year or 4, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise conversion_error("google.protobuf.Timestamp") from None
    if hours > _OFFSET_MAX[0] or minutes > _OFFSET_MAX[1]:
        raise conversion_error("google.protobuf.Timestamp")
    if not year:
        raise EvalError("timestamp overflow")
    nanos = int((match[7] or "0").ljust(9, "0")[:9])
    offset = (hours * 3600 + minutes * 60) * (-1 if match[8] == "-" else 1)
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
    """Return a zone by its name or its offset (``-08:00``). Upstream: ``inTimeZone`` in cel-go's ``cel/library.go``."""
    if name in ("", "UTC"):
        return UTC
    hours, colon, minutes = name.partition(":")
    if colon:
        east = _number(hours) * 60 + _number(minutes) * (-1 if name.startswith("-") else 1)
        if not -_DAY < east < _DAY:
            raise EvalError(f"unknown time zone {name}")
        return timezone(timedelta(minutes=east))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise EvalError(f"unknown time zone {name}") from None


def _number(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise EvalError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    return max(-_DAY, min(int(text[:9]), _DAY))


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
