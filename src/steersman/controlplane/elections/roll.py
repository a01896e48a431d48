"""Which candidates are alive: who has answered, who is still to be asked, who may yet answer, who did not."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.controlplane.elections.objects import Candidate, Lease

#: How long an answer counts, and how long it is waited for (upstream's ``electionDuration``).
ANSWER: Final = timedelta(seconds=5)
#: A candidate that has not renewed for so long takes no part any more (``leaseCandidateValidDuration``).
VALID: Final = timedelta(minutes=30)
#: Candidates are asked after half of that, so that those that live stay valid.
REFRESH: Final = VALID / 2
#: One that did not answer is asked again after so long, if nobody else is alive.
ASK_AGAIN: Final = timedelta(seconds=30)


class Roll(msgspec.Struct, frozen=True):
    """Valid candidates, by what is known of them; each is in one list."""

    #: Have answered within the last seconds.
    fresh: tuple[Candidate, ...]
    #: Nobody has asked them lately.
    stale: tuple[Candidate, ...]
    #: Were asked a moment ago.
    waiting: tuple[Candidate, ...]
    #: Were asked, and did not answer in time.
    silent: tuple[Candidate, ...]

    @property
    def present(self) -> tuple[Candidate, ...]:
        """All but those that do not answer."""
        return (*self.fresh, *self.stale, *self.waiting)

    @property
    def everyone(self) -> tuple[Candidate, ...]:
        """All that are valid."""
        return (*self.present, *self.silent)

    def to_refresh(self, now: datetime) -> tuple[Candidate, ...]:
        """Those that would become invalid if nobody asked them."""
        return tuple(one for one in self.stale if _renewed(one) + REFRESH <= now)

    def next_change(self, now: datetime) -> datetime | None:
        """When, without any event, a candidate's place on the roll changes in a way that may matter."""
        moments = [_pinged(one) + ANSWER for one in self.waiting]
        moments += [_renewed(one) + REFRESH for one in (*self.fresh, *self.stale)]
        return min((moment for moment in moments if moment > now), default=None)


def call_roll(candidates: Iterable[Candidate], lease: Lease | None, *, now: datetime) -> Roll:
    """Sort candidates into a roll; those that never renewed, or too long ago, are left out."""
    lists: dict[str, list[Candidate]] = {"fresh": [], "stale": [], "waiting": [], "silent": []}
    for candidate in candidates:
        if candidate.renewed is not None and candidate.renewed + VALID >= now:
            lists[_place(candidate, lease, now)].append(candidate)
    return Roll(**{name: tuple(ones) for name, ones in lists.items()})


def _place(candidate: Candidate, lease: Lease | None, now: datetime) -> str:
    renewed = _renewed(candidate)
    # a ping from the future would be waited for without end: whoever set it, it is not counted
    if candidate.pinged is not None and renewed < candidate.pinged <= now + ANSWER:
        return "silent" if candidate.pinged + ANSWER <= now else "waiting"
    if renewed + ANSWER < now or (lease is not None and _is_doubtful(candidate, lease, now)):
        return "stale"
    return "fresh"


def _is_doubtful(candidate: Candidate, lease: Lease, now: datetime) -> bool:
    """Whether it let the Lease run out, and has not said since that it lives."""
    return candidate.name == lease.holder and lease.expires <= now and _renewed(candidate) < lease.expires


def _renewed(candidate: Candidate) -> datetime:
    assert candidate.renewed is not None
    return candidate.renewed


def _pinged(candidate: Candidate) -> datetime:
    assert candidate.pinged is not None
    return candidate.pinged
