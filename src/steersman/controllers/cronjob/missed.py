"""Due start of a schedule. Pure rules."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from steersman.apimachinery.schedules import Schedule

#: More missed starts indicate a wrong clock, or a controller that was down for long.
MANY: Final = 100
#: First distance of the backward search for the latest start; each further one is twice as long.
_FIRST_LOOK: Final = timedelta(minutes=2)


class Due(NamedTuple):
    """Latest missed start time, and whether many were missed."""

    #: Latest missed start; None if none since the last start.
    at: datetime | None
    #: True if more than ``MANY`` were missed.
    too_many: bool = False


class NoOccurrence(ValueError):  # noqa: N818 — named by the condition
    """The schedule has no occurrence, e.g. on the 31st of February."""


def find_due(schedule: Schedule, *, since: datetime, now: datetime) -> Due:
    """Return the latest start after ``since`` and not after ``now``. Raises NoOccurrence."""
    moment = schedule.next(since)
    if moment is None:
        raise NoOccurrence("time difference between two schedules is less than 1 second")
    latest: datetime | None = None
    for _ in range(MANY + 1):
        if moment is None or moment > now:
            return Due(latest)
        latest, moment = moment, schedule.next(moment)
    return Due(_latest(schedule, since, now) or latest, too_many=True)


def _latest(schedule: Schedule, since: datetime, now: datetime) -> datetime | None:
    """Search backwards in growing steps, so that years of minutes are not enumerated."""
    look = _FIRST_LOOK
    latest = schedule.next(now - look)
    while (latest is None or latest > now) and now - look > since:
        look *= 2
        latest = schedule.next(max(since, now - look))
    while (
        latest is not None and latest <= now and (following := schedule.next(latest)) is not None and following <= now
    ):
        latest = following
    return latest if latest is not None and latest <= now else None
