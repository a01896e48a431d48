"""Liveness of candidates: acknowledged recently, to be pinged, pinged, or unresponsive."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from steersman.controlplane.elections.objects import Candidate, Lease

#: Validity of a renewal, and bound for the acknowledgement of a ping. Upstream: ``electionDuration``.
ACK_TIMEOUT: Final = timedelta(seconds=5)
#: Candidates without renewal for longer are ignored. Upstream: ``leaseCandidateValidDuration``.
VALID: Final = timedelta(minutes=30)
#: Age of a renewal at which a candidate is pinged, so that live candidates stay valid.
REFRESH: Final = VALID / 2
#: First delay before an unresponsive candidate is pinged again.
PING_RETRY: Final = timedelta(seconds=30)


class Roll(msgspec.Struct, frozen=True):
    """Valid candidates by liveness; each is in exactly one list."""

    #: Renewed within ``ACK_TIMEOUT``.
    fresh: tuple[Candidate, ...]
    #: To be pinged.
    stale: tuple[Candidate, ...]
    #: Pinged within ``ACK_TIMEOUT``, not acknowledged yet.
    waiting: tuple[Candidate, ...]
    #: Pinged, and not acknowledged within ``ACK_TIMEOUT``.
    silent: tuple[Candidate, ...]

    @property
    def present(self) -> tuple[Candidate, ...]:
        """Candidates except unresponsive ones."""
        return (*self.fresh, *self.stale, *self.waiting)

    @property
    def everyone(self) -> tuple[Candidate, ...]:
        """Valid candidates."""
        return (*self.present, *self.silent)

    def to_refresh(self, now: datetime) -> tuple[Candidate, ...]:
        """Return candidates that must be pinged to stay valid."""
        return tuple(candidate for candidate in self.stale if _renewed(candidate) + REFRESH <= now)

    def due(self) -> dict[str, datetime]:
        """Return the next ping of each unresponsive candidate.

        The delay doubles with each attempt, until it is invalid.
        """
        return {
            candidate.name: _pinged(candidate) + max(PING_RETRY, _pinged(candidate) - _renewed(candidate))
            for candidate in self.silent
        }

    def next_change(self, now: datetime) -> datetime | None:
        """Return the time at which, without any event, the liveness of a candidate changes."""
        moments = [_pinged(candidate) + ACK_TIMEOUT for candidate in self.waiting]
        moments += [_renewed(candidate) + REFRESH for candidate in (*self.fresh, *self.stale)]
        return min((moment for moment in moments if moment > now), default=None)


def call_roll(
    candidates: Iterable[Candidate], lease: Lease | None, *, now: datetime, departed: Container[str] = ()
) -> Roll:
    """Classify candidates; candidates that never renewed, or not recently, are omitted.

    ``departed`` candidates count as stale until they renew.
    """
    lists: dict[str, list[Candidate]] = {"fresh": [], "stale": [], "waiting": [], "silent": []}
    for candidate in candidates:
        if candidate.renewed is not None and candidate.renewed + VALID >= now:
            liveness = _liveness(candidate, lease, now)
            lists["stale" if liveness == "fresh" and candidate.name in departed else liveness].append(candidate)
    return Roll(**{name: tuple(members) for name, members in lists.items()})


def _liveness(candidate: Candidate, lease: Lease | None, now: datetime) -> str:
    renewed = _renewed(candidate)
    # A ping time in the future would delay the election indefinitely, so it is ignored.
    if candidate.pinged is not None and renewed < candidate.pinged <= now + ACK_TIMEOUT:
        return "silent" if candidate.pinged + ACK_TIMEOUT <= now else "waiting"
    if renewed + ACK_TIMEOUT < now or (lease is not None and _is_doubtful(candidate, lease, now)):
        return "stale"
    return "fresh"


def _is_doubtful(candidate: Candidate, lease: Lease, now: datetime) -> bool:
    """Report whether the candidate let the Lease expire and has not renewed its candidacy since."""
    return candidate.name == lease.holder and lease.expires <= now and _renewed(candidate) < lease.expires


def _renewed(candidate: Candidate) -> datetime:
    assert candidate.renewed is not None
    return candidate.renewed


def _pinged(candidate: Candidate) -> datetime:
    assert candidate.pinged is not None
    return candidate.pinged
