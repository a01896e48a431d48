"""Whether a text is a cron schedule, and what is wrong with it otherwise: five fields, or a word after ``@``.

The grammar and the faults are those of the parser that Kubernetes uses (robfig/cron, ``ParseStandard``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Mapping


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
_WORDS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_DURATION: Final = re.compile(r"[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)


class ScheduleError(ValueError):
    """A text is no schedule; says why."""


def check_schedule(text: str) -> None:
    """Raises ``ScheduleError`` for what is no schedule."""
    if not text:
        raise ScheduleError("empty spec string")
    rest = _without_zone(text)
    if rest.startswith("@"):
        _check_word(rest)
        return
    fields = rest.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _check_range(expression, bounds)


def load_zone(name: str) -> ZoneInfo:
    """A time zone by its name. Raises ``ScheduleError`` for one that nobody knows."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ScheduleError(f"unknown time zone {name}") from error


def _without_zone(text: str) -> str:
    if not text.startswith(("TZ=", "CRON_TZ=")):
        return text
    zone, _, rest = text.partition(" ")
    name = zone.partition("=")[2]
    if not rest:
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found 0: []")
    try:
        load_zone(name or "UTC")
    except ScheduleError as error:
        raise ScheduleError(f"provided bad location {name}: {error}") from error
    return rest.strip()


def _check_word(word: str) -> None:
    if word in _WORDS:
        return
    if not word.startswith("@every "):
        raise ScheduleError(f"unrecognized descriptor: {word}")
    duration = word.removeprefix("@every ")
    if not _DURATION.fullmatch(duration):
        raise ScheduleError(f"failed to parse duration {word}: time: invalid duration {quote(duration)}")


def _check_range(expression: str, bounds: _Bounds) -> None:
    """``*``, ``3``, ``1-5``, ``mon``, each perhaps with ``/step``."""
    span, *steps = expression.split("/")
    ends = span.split("-")
    if ends[0] in ("*", "?"):
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
