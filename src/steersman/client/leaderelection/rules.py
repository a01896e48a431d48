"""Leader election as a pure function of a contender's view and the time.

The rules are client-go's, with one stricter rule: a leader counts the renew deadline from the time it *sent* its last
successful renewal, so that it stops before another contender may start. Assumptions under which two never lead at once:

* identities are unique;
* a contender's monotonic clock runs while its process is paused, and the rates of any two of these clocks differ by at
  most ``lease duration / (renew deadline + time until work has ended)``; their absolute values and wall clocks do not matter;
* work ends within ``lease duration - renew deadline`` of its cancellation, or checks ``is_leader`` before each action.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from steersman.client.leaderelection.record import LeaderElectionRecord

if TYPE_CHECKING:
    from datetime import datetime

#: Maximal jitter, as a fraction of the retry period. Upstream: ``JitterFactor``.
JITTER_FACTOR: Final = 1.2


@dataclass(frozen=True, slots=True)
class Timing:
    """Periods of an election; the defaults are those of the Kubernetes components.

    ``lease_duration_seconds``: time after the last observed change before other contenders take over.
    ``renew_deadline_seconds``: time a leader continues without a successful renewal.
    ``retry_period_seconds``: delay between two attempts.
    """

    lease_duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0

    def __post_init__(self) -> None:
        """Raise ValueError, with upstream's messages, for inconsistent periods."""
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
    """State known to a contender. Times are seconds of its own monotonic clock."""

    #: Record as last observed or written; None: no lock is known.
    record: LeaderElectionRecord | None = None
    #: Time at which this contender first observed the record.
    changed_at: float = 0.0
    #: Time at which leadership ends unless it is renewed; None: not leading.
    leads_until: float | None = None

    def leads(self, now: float) -> bool:
        """Report whether this contender is the leader at this time."""
        return self.leads_until is not None and now < self.leads_until


@dataclass(frozen=True, slots=True)
class Wait:
    """Another contender holds the lock, by the current view until the given time (None: until a change)."""

    until: float | None


@dataclass(frozen=True, slots=True)
class Write:
    """Write this record if the lock is unchanged: it is held by this contender, or may be acquired."""

    record: LeaderElectionRecord
    #: Create the lock.
    create: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Leadership has ended, or must end."""

    reason: str
    #: Leadership must end, and the lease is renewed until work has ended.
    yields: bool = False


Action = Wait | Write | GiveUp


def observed(view: View, record: LeaderElectionRecord | None, *, identity: str, now: float) -> View:
    """Return the view after reading the lock. A leader that observes another holder stops leading."""
    if record == view.record:
        return view
    leads_until = view.leads_until if record is None or record.holder == identity else None
    return View(record, now, leads_until)


def written(record: LeaderElectionRecord, *, timing: Timing, sent_at: float, now: float) -> View:
    """Return the view after a write that acquired or renewed the lock."""
    return View(record, now, sent_at + timing.renew_deadline_seconds)


def overtaken(view: View, *, identity: str, timing: Timing, sent_at: float) -> View:
    """Return the view after a successful write when a newer version was observed before its response."""
    if view.record is None or view.record.holder != identity:
        return view
    return replace(view, leads_until=sent_at + timing.renew_deadline_seconds)


def stepped_down(view: View) -> View:
    """Return the view of a contender that stops leading, regardless of the lock."""
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
    """Return the next action; ``wall_time`` is only written into the record.

    ``coordinated``: the API server assigns the holder (KEP-4355); never acquire the lock, and yield when another holder
    is preferred. ``ending``: the contender yields already and its work is ending; renew the lock until the work has
    ended.
    """
    if view.leads_until is not None:
        return _decide_as_leader(view, identity, timing, now, wall_time, coordinated=coordinated, ending=ending)
    record = view.record
    if record is None:
        return Wait(None) if coordinated else Write(_own_record(identity, timing, wall_time, None), create=True)
    expires = view.changed_at + record.lease_duration_seconds
    if coordinated:
        ours = record.holder == identity and now < expires and record.preferred_holder in ("", identity)
        return Write(_own_record(identity, timing, wall_time, record, coordinated=True)) if ours else Wait(None)
    if record.holder and record.holder != identity and now < expires:
        return Wait(expires)
    return Write(_own_record(identity, timing, wall_time, record))


def _decide_as_leader(
    view: View, identity: str, timing: Timing, now: float, wall_time: datetime, *, coordinated: bool, ending: bool
) -> Action:
    record = view.record
    if not view.leads(now):
        return GiveUp("the lease was not renewed within the renew deadline")
    if record is None:
        if coordinated:
            return GiveUp("the lease is gone")
        return Write(_own_record(identity, timing, wall_time, None), create=True)
    if coordinated and not ending and record.preferred_holder not in ("", identity):
        return GiveUp(f"{record.preferred_holder} is preferred", yields=True)
    return Write(_own_record(identity, timing, wall_time, record, coordinated=coordinated))


def released(record: LeaderElectionRecord, *, wall_time: datetime) -> LeaderElectionRecord:
    """Return the record of a released lock, which others may acquire at once. The preferred holder is preserved."""
    return replace(record, holder="", lease_duration_seconds=1, acquired_at=wall_time, renewed_at=wall_time)


def _own_record(
    identity: str, timing: Timing, wall_time: datetime, old: LeaderElectionRecord | None, *, coordinated: bool = False
) -> LeaderElectionRecord:
    """Return the record with this contender as holder; counts a change of holder."""
    duration = math.ceil(timing.lease_duration_seconds)
    if old is None:
        return LeaderElectionRecord(identity, duration, wall_time, wall_time)
    is_renewal = old.holder == identity
    return LeaderElectionRecord(
        holder=identity,
        lease_duration_seconds=duration,
        acquired_at=old.acquired_at if is_renewal and old.acquired_at is not None else wall_time,
        renewed_at=wall_time,
        transitions=old.transitions if is_renewal else old.transitions + 1,
        strategy=old.strategy if coordinated else "",
        preferred_holder=old.preferred_holder if coordinated else "",
    )
