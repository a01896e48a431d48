"""Due start of a schedule. Pure rules.

Upstream: ``mostRecentScheduleTime`` and ``nextScheduleTimeDuration`` in ``pkg/controller/cronjob/utils.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.schedules import Schedule

#: More missed starts indicate a wrong clock, or a controller that was down for long.
MANY: Final = 100


class Due(NamedTuple):
    """Latest missed start time, and an estimate of the missed starts."""

    #: Latest missed start; None if none was missed.
    at: datetime | None
    #: Missed starts if all were as far apart as the first two.
    missed: int = 0

    @property
    def too_many(self) -> bool:
        """True if more than ``MANY`` starts were missed."""
        return self.missed > MANY


class NoOccurrence(ValueError):  # noqa: N818 — named by the condition
    """The schedule has no occurrence, e.g. on the 31st of February."""


def find_due(schedule: Schedule, *, since: datetime, now: datetime) -> Due:
    """Return the latest start after ``since`` and not after ``now``. Raises NoOccurrence.

    After several missed starts the last two intervals as long as the first one are searched, as by upstream. If they
    have none, as the starts of an irregular schedule are not equally far apart, all of the time is searched.
    """
    if since > now:
        return Due(None)
    first = schedule.next(since)
    second = None if first is None else schedule.next(first)
    if first is not None and now < first:
        return Due(None)
    if first is not None and second is not None and now < second:
        return Due(first, 1)
    if first is None or second is None:
        raise NoOccurrence("time difference between two schedules is less than 1 second")
    missed = (now - first) // (second - first) + 1
    near = first + (missed - 2) * (second - first)
    return Due(_latest(schedule, near, now) or _latest(schedule, first, now) or first, missed)


def next_start(schedule: Schedule, *, since: datetime, now: datetime) -> datetime | None:
    """Return the start after the latest one; None if the schedule never occurs again."""
    try:
        due = find_due(schedule, since=since, now=now)
    except NoOccurrence:
        return schedule.next(now)
    return schedule.next(due.at or since)


def _latest(schedule: Schedule, since: datetime, now: datetime) -> datetime | None:
    """Return the latest start after ``since``; after ``MANY`` of them by bisection, so that not all are enumerated."""
    latest, following = None, schedule.next(since)
    for _ in range(MANY):
        if following is None or following > now:
            return latest
        latest, following = following, schedule.next(following)
    assert latest is not None
    none_after = now
    while following is not None and following <= now:
        latest = following
        middle = latest + (none_after - latest) / 2
        following = schedule.next(middle)
        if following is None or following > now:
            none_after, following = middle, schedule.next(latest)
    return latest
