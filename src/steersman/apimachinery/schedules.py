"""Cron schedules: five fields, or a macro, e.g. ``@daily``.

Grammar, errors and times are those of the library that Kubernetes uses (robfig/cron, ``ParseStandard``): a start in an
hour that a clock change skips is dropped, one in a repeated hour occurs twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 — compiled named tuples load the types of their fields
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from steersman.apimachinery.durations import parse_duration
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.timestamps import add_seconds

#: A schedule without a time within this many years never occurs.
_YEARS_MAX: Final = 5
#: Years in which a search does not leave those that times can have.
_YEARS: Final = range(2, 9999 - _YEARS_MAX)
_MONTHS_OF_YEAR: Final = 12
_MINUTES_OF_HOUR: Final = 60


class _Bounds(NamedTuple):
    low: int
    high: int
    names: Mapping[str, int] = {}


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_DURATION: Final = re.compile(r"[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)


class ScheduleError(ValueError):
    """Malformed schedule; the message is the reason."""


class Schedule(Protocol):
    """Interface of a parsed schedule."""

    def next(self, after: datetime) -> datetime | None:
        """Return the first time after ``after``, which must be aware, in UTC; None if it never occurs again."""


@dataclass(frozen=True, slots=True)
class Every:
    """Fixed interval of whole seconds, at least one, from the last time."""

    seconds: int

    def next(self, after: datetime) -> datetime | None:
        """Return the next time; None at the end of the calendar, too. See ``Schedule.next``."""
        following = add_seconds(after.astimezone(UTC).replace(microsecond=0), self.seconds)
        return following if following.microsecond == 0 else None


@dataclass(frozen=True, slots=True)
class Times:
    """Set of minutes of hours of days."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    #: 0 is Sunday.
    weekdays: frozenset[int]
    #: True if both day of month and day of week must match: if one of them has a star.
    both_days: bool
    zone: tzinfo

    def next(self, after: datetime) -> datetime | None:
        """Return the next time; None at the end of the calendar, too. See ``Schedule.next``."""
        if after.year >= _YEARS.stop:
            return None
        after = max(after, datetime(_YEARS.start, 1, 1, tzinfo=UTC))
        moment = _later(after.astimezone(self.zone).replace(second=0, microsecond=0), minutes=1)
        last_year = moment.year + _YEARS_MAX
        while moment.year <= last_year:
            if moment.month not in self.months:
                moment = self._start_of(
                    moment.year + moment.month // _MONTHS_OF_YEAR, moment.month % _MONTHS_OF_YEAR + 1
                )
            elif not self._fits_day(moment):
                moment = self._next_day(moment)
            elif moment.hour not in self.hours:
                moment = _later(moment.replace(minute=0), hours=1)
            elif moment.minute not in self.minutes:
                moment = self._next_minute(moment)
            else:
                return moment.astimezone(UTC)
        return None

    def _fits_day(self, moment: datetime) -> bool:
        by_month, by_week = moment.day in self.days, moment.isoweekday() % 7 in self.weekdays
        return (by_month and by_week) if self.both_days else (by_month or by_week)

    def _start_of(self, year: int, month: int, day: int = 1) -> datetime:
        """Return midnight in the zone, or the first moment of a day without midnight."""
        return datetime(year, month, day, tzinfo=self.zone).astimezone(UTC).astimezone(self.zone)

    def _next_minute(self, moment: datetime) -> datetime:
        """Return the next matching minute of the hour, or the next hour; the next minute where local time jumps before it."""
        following = min((minute for minute in self.minutes if minute > moment.minute), default=_MINUTES_OF_HOUR)
        later = _later(moment, minutes=following - moment.minute)
        return later if later.utcoffset() == moment.utcoffset() else _later(moment, minutes=1)

    def _next_day(self, moment: datetime) -> datetime:
        following = moment.date() + timedelta(days=1)
        return self._start_of(following.year, following.month, following.day)


def _later(moment: datetime, *, hours: int = 0, minutes: int = 0) -> datetime:
    """Add elapsed time, ignoring changes of local clocks."""
    return (moment.astimezone(UTC) + timedelta(hours=hours, minutes=minutes)).astimezone(moment.tzinfo)


# Reading


def parse_schedule(text: str, *, zone: tzinfo = UTC) -> Schedule:
    """Parse a schedule in ``zone``, unless the text names a zone itself. Raises ``ScheduleError``."""
    if not text:
        raise ScheduleError("empty spec string")
    rest, own_zone = _without_zone(text)
    if rest.startswith("@"):
        if rest not in _WORDS:
            return _every(rest)
        rest = _WORDS[rest]
    fields = rest.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    parsed = [_parse_field(field, bounds) for field, bounds in zip(fields, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = (numbers for numbers, _ in parsed)
    both_days = parsed[2][1] or parsed[4][1]
    return Times(minutes, hours, days, months, weekdays, both_days, own_zone or zone)


def load_zone(name: str) -> ZoneInfo:
    """Return a time zone by name. Raises ``ScheduleError`` if unknown."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ScheduleError(f"unknown time zone {name}") from error


def _without_zone(text: str) -> tuple[str, ZoneInfo | None]:
    if not text.startswith(("TZ=", "CRON_TZ=")):
        return text, None
    word, _, rest = text.partition(" ")
    name = word.partition("=")[2]
    if not rest:
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found 0: []")
    try:
        zone = load_zone(name or "UTC")
    except ScheduleError as error:
        raise ScheduleError(f"provided bad location {name}: {error}") from error
    return rest.strip(), zone


def _every(word: str) -> Every:
    if not word.startswith("@every "):
        raise ScheduleError(f"unrecognized descriptor: {word}")
    duration = word.removeprefix("@every ")
    if not _DURATION.fullmatch(duration):
        raise ScheduleError(f"failed to parse duration {word}: time: invalid duration {quote(duration)}")
    return Every(max(1, int(parse_duration(duration))))


def _parse_field(field: str, bounds: _Bounds) -> tuple[frozenset[int], bool]:
    """Return the numbers of a field, and whether it has an unrestricted star."""
    parts = [_parse_range(expression, bounds) for expression in field.split(",") if expression]
    return frozenset(number for numbers, _ in parts for number in numbers), any(star for _, star in parts)


def _parse_range(expression: str, bounds: _Bounds) -> tuple[range, bool]:
    """Parse ``*``, ``3``, ``1-5`` or ``mon``, each with an optional ``/step``."""
    span, *steps = expression.split("/")
    ends = span.split("-")
    star = ends[0] in ("*", "?")
    if star:
        first, last = bounds.low, bounds.high
    else:
        first = _number_or_name(ends[0], bounds)
        if len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {expression}")
        last = _number_or_name(ends[1], bounds) if len(ends) == 2 else first
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {expression}")
    step = _number(steps[0]) if steps else 1
    if steps and len(ends) == 1:
        last = bounds.high
    if first < bounds.low:
        raise ScheduleError(f"beginning of range ({first}) below minimum ({bounds.low}): {expression}")
    if last > bounds.high:
        raise ScheduleError(f"end of range ({last}) above maximum ({bounds.high}): {expression}")
    if first > last:
        raise ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")
    return range(first, last + 1, step), star and step == 1


def _number_or_name(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    number = int(text)
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
