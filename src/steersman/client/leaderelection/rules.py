"""Leader election as a pure function: what one contender knows, and the time, in; what it should do, out.

The rules are client-go's, with one that is stricter: a leader counts the renew deadline from the moment at which it *sent*
its last renewal that worked, so that it stops before anybody else may start. What must hold for two never to lead at once:

* identities are unique;
* a contender's monotonic clock runs while its process is paused, and no two of these clocks differ in speed by more than
  ``lease duration / (renew deadline + the time that work takes to end)``; what they and the wall clocks show does not matter;
* work ends within ``lease duration - renew deadline`` of being cancelled (or asks ``is_leader`` before each act).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from steersman.client.leaderelection.record import Record

if TYPE_CHECKING:
    from datetime import datetime

#: The retry period is made longer by up to so much of it (client-go's ``JitterFactor``).
JITTER_FACTOR: Final = 1.2


@dataclass(frozen=True, slots=True)
class Timing:
    """The three periods of an election; the defaults are those of the Kubernetes components.

    ``lease_duration_seconds``: how long others wait after the last change they saw before they take over.
    ``renew_deadline_seconds``: how long a leader goes on without a renewal that worked.
    ``retry_period_seconds``: between two tries.
    """

    lease_duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0

    def __post_init__(self) -> None:
        """Raises ValueError with upstream's words."""
        if self.lease_duration_seconds <= self.renew_deadline_seconds:
            raise ValueError("leaseDuration must be greater than renewDeadline")
        if self.renew_deadline_seconds <= JITTER_FACTOR * self.retry_period_seconds:
            raise ValueError("renewDeadline must be greater than retryPeriod*JitterFactor")
        if self.lease_duration_seconds <= 0:
            raise ValueError("leaseDuration must be greater than zero")
        if self.renew_deadline_seconds <= 0:
            raise ValueError("renewDeadline must be greater than zero")
        if self.retry_period_seconds <= 0:
            raise ValueError("retryPeriod must be greater than zero")


@dataclass(frozen=True, slots=True)
class View:
    """What a contender knows. Times are seconds of its own monotonic clock."""

    #: As last seen or written; None: there is no lock, as far as is known.
    record: Record | None = None
    #: When this contender first saw the record as it is.
    changed_at: float = 0.0
    #: While leading: when leadership ends unless it is renewed.
    leads_until: float | None = None

    def leads(self, now: float) -> bool:
        """Whether this contender is the leader at this moment."""
        return self.leads_until is not None and now < self.leads_until


@dataclass(frozen=True, slots=True)
class Wait:
    """Somebody else holds the lock, by what is known until the given moment (None: until something changes)."""

    until: float | None


@dataclass(frozen=True, slots=True)
class Write:
    """Write this record, if the lock is still as it was seen: it is ours, or may be taken."""

    record: Record
    #: There is no lock to be replaced.
    create: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Leadership has ended, or must."""

    reason: str
    #: It must, but has not yet: the lease is kept until work has ended.
    yields: bool = False


Action = Wait | Write | GiveUp


def observed(view: View, record: Record | None, *, identity: str, now: float) -> View:
    """The view after reading the lock. A leader that finds another holder leads no more."""
    if record == view.record:
        return view
    leads_until = view.leads_until if record is None or record.holder == identity else None
    return View(record, now, leads_until)


def written(record: Record, *, timing: Timing, sent_at: float, now: float) -> View:
    """The view after a write that made or kept this contender the leader."""
    return View(record, now, sent_at + timing.renew_deadline_seconds)


def overtaken(view: View, *, identity: str, timing: Timing, sent_at: float) -> View:
    """The view after a write that worked, when something newer was seen before its answer came."""
    if view.record is None or view.record.holder != identity:
        return view
    return replace(view, leads_until=sent_at + timing.renew_deadline_seconds)


def stepped_down(view: View) -> View:
    """The view of a contender that leads no more, whatever the lock says."""
    return replace(view, leads_until=None)


def decide(
    view: View,
    *,
    identity: str,
    timing: Timing,
    now: float,
    wall_time: datetime,
    coordinated: bool = False,
    ending: bool = False,
) -> Action:
    """What to do next; ``wall_time`` is written into the record, and used for nothing else.

    ``coordinated``: somebody else (KEP-4355) says who holds the lock; never take it, and give it up when another is
    preferred. ``ending``: that is known, work is being ended; keep the lock until it has.
    """
    if view.leads_until is not None:
        return _decide_as_leader(view, identity, timing, now, wall_time, coordinated=coordinated, ending=ending)
    record = view.record
    if record is None:
        return Wait(None) if coordinated else Write(_mine(identity, timing, wall_time, None), create=True)
    expires = view.changed_at + record.lease_duration_seconds
    if coordinated:
        ours = record.holder == identity and now < expires and record.preferred_holder in ("", identity)
        return Write(_mine(identity, timing, wall_time, record, coordinated=True)) if ours else Wait(None)
    if record.holder and record.holder != identity and now < expires:
        return Wait(expires)
    return Write(_mine(identity, timing, wall_time, record))


def _decide_as_leader(
    view: View, identity: str, timing: Timing, now: float, wall_time: datetime, *, coordinated: bool, ending: bool
) -> Action:
    record = view.record
    if not view.leads(now):
        return GiveUp("the lease was not renewed within the renew deadline")
    if record is None:
        if coordinated:
            return GiveUp("the lease is gone")
        return Write(_mine(identity, timing, wall_time, None), create=True)
    if coordinated and not ending and record.preferred_holder not in ("", identity):
        return GiveUp(f"{record.preferred_holder} is preferred", yields=True)
    return Write(_mine(identity, timing, wall_time, record, coordinated=coordinated))


def released(record: Record, *, wall_time: datetime) -> Record:
    """The record that lets others take over at once. Who is preferred stays known."""
    return replace(record, holder="", lease_duration_seconds=1, acquired_at=wall_time, renewed_at=wall_time)


def _mine(
    identity: str, timing: Timing, wall_time: datetime, old: Record | None, *, coordinated: bool = False
) -> Record:
    """The record of this contender as holder; a change of holder is counted."""
    duration = math.ceil(timing.lease_duration_seconds)
    if old is None:
        return Record(identity, duration, wall_time, wall_time)
    kept = old.holder == identity
    return Record(
        holder=identity,
        lease_duration_seconds=duration,
        acquired_at=old.acquired_at if kept and old.acquired_at is not None else wall_time,
        renewed_at=wall_time,
        transitions=old.transitions if kept else old.transitions + 1,
        strategy=old.strategy if coordinated else "",
        preferred_holder=old.preferred_holder if coordinated else "",
    )
