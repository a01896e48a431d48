"""One step of an election: what is there, and the time, to what is to be written and why."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.controlplane.elections.choosing import Conflict, Foreign, Winner, choose
from steersman.controlplane.elections.roll import ANSWER, ASK_AGAIN, Roll, call_roll

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.controlplane.elections.choosing import Outcome
    from steersman.controlplane.elections.objects import Candidate, Lease

#: How long a candidate that was elected has until it renews the Lease itself (``defaultLeaseDurationSeconds``).
LEASE_DURATION_SECONDS: Final = 5
#: While a hand-over is pending, the preferred holder is asked so often whether it is still there.
_CHECK: Final = timedelta(seconds=10)
#: The longest time between two looks at a Lease that changes hands.
_LOOK_AGAIN: Final = timedelta(seconds=LEASE_DURATION_SECONDS)


class Reason(StrEnum):
    """Why a step ends as it does; of events and metrics."""

    NO_CANDIDATES = "NoCandidates"
    ASKING = "AskingCandidates"
    WAITING = "WaitingForAnswers"
    NOBODY_ANSWERS = "NobodyAnswers"
    STRATEGY_CONFLICT = "StrategyConflict"
    FOREIGN_STRATEGY = "ForeignStrategy"
    STRATEGY_PUBLISHED = "StrategyPublished"
    ELECTED = "LeaderElected"
    HOLDER_IS_BEST = "HolderIsBest"
    HOLDER_LATE = "HolderDoesNotRenew"
    PREFERRED = "PreferredHolderMarked"
    HAND_OVER_PENDING = "HandOverPending"
    NOT_PREFERRED = "PreferredHolderCleared"


#: What somebody should look into.
WARNINGS: Final = frozenset({Reason.NOBODY_ANSWERS, Reason.STRATEGY_CONFLICT, Reason.HOLDER_LATE})


class Create(msgspec.Struct, frozen=True):
    """Make the Lease; without a holder when the strategy is somebody else's."""

    holder: str
    strategy: str


class Take(msgspec.Struct, frozen=True):
    """Give a Lease that nobody holds, or whose holder is late, to another one."""

    holder: str
    strategy: str


class Prefer(msgspec.Struct, frozen=True):
    """Name a better candidate, so that the holder lets go; an empty name takes that back."""

    holder: str
    strategy: str


class Publish(msgspec.Struct, frozen=True):
    """Say by which strategy the holder is chosen, and nothing else."""

    strategy: str


Write = Create | Take | Prefer | Publish


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What one step comes to."""

    reason: Reason
    #: For people.
    why: str
    #: What to do to the Lease.
    write: Write | None = None
    #: Candidates to ask whether they live, all at once.
    ask: tuple[str, ...] = ()
    #: When to look again though nothing changes; None: nothing but a change matters.
    look_again: datetime | None = None


def decide(lease: Lease | None, candidates: Iterable[Candidate], *, now: datetime) -> Decision:
    """The next step for one Lease and those that want it."""
    roll = call_roll(candidates, lease, now=now)
    if not roll.everyone:
        return Decision(reason=Reason.NO_CANDIDATES, why="no valid candidate")
    if lease is not None and lease.holder and lease.expires > now:
        return _decide_held(lease, roll, now)
    return _decide_free(lease, roll, now)


# -- somebody holds the Lease, and renews it ---------------------------------------------------------------------------


def _decide_held(lease: Lease, roll: Roll, now: datetime) -> Decision:
    """Nobody is in a hurry: all answers are waited for, so that the holder is asked to go for the best only."""
    refresh = _names(roll.to_refresh(now))
    later = _earliest(now, lease.expires, roll.next_change(now))
    if not roll.present:
        return _clear(lease, "no candidate answers") or Decision(
            reason=Reason.HOLDER_IS_BEST, why=f"{lease.holder} holds it, and no candidate answers", look_again=later
        )
    outcome = choose(roll.present, holder=lease.holder)
    if isinstance(outcome, Conflict):
        return _conflict(outcome, refresh, later)
    if isinstance(outcome, Foreign):
        why = f"{outcome.strategy} is not ours to follow"
        return Decision(reason=Reason.FOREIGN_STRATEGY, why=why, ask=refresh, look_again=later)
    if outcome.name == lease.holder:
        return _clear(lease, f"{lease.holder} is the best that answers") or Decision(
            reason=Reason.HOLDER_IS_BEST, why=f"{lease.holder} holds it and is the best", ask=refresh, look_again=later
        )
    if (lease.preferred, lease.strategy) == (outcome.name, outcome.strategy):
        return _await_hand_over(lease, roll, now, later)
    if roll.stale or roll.waiting:
        return _ask(roll, now, f"{outcome.name} may be better than {lease.holder}")
    return Decision(
        reason=Reason.PREFERRED,
        why=f"{outcome.name} is better than {lease.holder}, who holds it",
        write=Prefer(outcome.name, outcome.strategy),
        look_again=later,
    )


def _await_hand_over(lease: Lease, roll: Roll, now: datetime, later: datetime | None) -> Decision:
    """The holder knows that it should go. If the preferred one is lost meanwhile, the mark has to be, too."""
    preferred = next(one for one in roll.present if one.name == lease.preferred)
    assert preferred.renewed is not None
    due = preferred.renewed + _CHECK
    overdue = preferred in roll.stale and due <= now
    return Decision(
        reason=Reason.HAND_OVER_PENDING,
        why=f"{lease.holder} has been asked to leave it to {lease.preferred}",
        ask=tuple({*_names(roll.to_refresh(now)), *([preferred.name] if overdue else ())}),
        look_again=_earliest(now, later, due),
    )


def _clear(lease: Lease, why: str) -> Decision | None:
    """Take a mark back that would make the holder go for nobody."""
    if not lease.preferred:
        return None
    why = f"{lease.preferred} is not preferred any more: {why}"
    return Decision(reason=Reason.NOT_PREFERRED, why=why, write=Prefer("", lease.strategy), look_again=lease.expires)


# -- nobody holds it, or the holder is late ----------------------------------------------------------------------------


def _decide_free(lease: Lease | None, roll: Roll, now: datetime) -> Decision:
    """There is a hurry: decided as soon as no missing answer could change the outcome."""
    holder = lease.holder if lease is not None else ""
    if not roll.fresh:
        return _nobody_fresh(roll, now)
    outcome = choose(roll.fresh, holder=holder)
    missing = [one for one in (*roll.stale, *roll.waiting) if choose((*roll.fresh, one), holder=holder) != outcome]
    if missing:
        return _ask(roll, now, f"{missing[0].name} may be the one")
    return _settle(lease, outcome, roll, now)


def _settle(lease: Lease | None, outcome: Outcome, roll: Roll, now: datetime) -> Decision:
    later = roll.next_change(now)
    if isinstance(outcome, Conflict):
        return _conflict(outcome, _names(roll.to_refresh(now)), later)
    ask, soon = _names(roll.stale), now + _LOOK_AGAIN
    if lease is None:
        holder = outcome.name if isinstance(outcome, Winner) else ""
        reason = Reason.ELECTED if holder else Reason.STRATEGY_PUBLISHED
        why = f"there is no Lease; {holder} is the best" if holder else f"{outcome.strategy} is not ours to follow"
        return Decision(reason=reason, why=why, write=Create(holder, outcome.strategy), ask=ask, look_again=soon)
    if isinstance(outcome, Foreign) or (outcome.name == lease.holder and not lease.preferred):
        return _leave(lease, outcome, roll, now)
    if outcome.name == lease.holder:
        # a holder that was asked to go does not come back by itself, whoever it should have left it to
        why = f"{lease.preferred} did not come; {lease.holder} is the best that answers"
        again = Take(outcome.name, outcome.strategy)
        return Decision(reason=Reason.ELECTED, why=why, write=again, ask=ask, look_again=soon)
    state = f"{lease.holder} did not renew it" if lease.holder else "nobody holds it"
    return Decision(
        reason=Reason.ELECTED,
        why=f"{state}; {outcome.name} is the best",
        write=Take(outcome.name, outcome.strategy),
        ask=ask,
        look_again=soon,
    )


def _leave(lease: Lease, outcome: Winner | Foreign, roll: Roll, now: datetime) -> Decision:
    """The holder is not ours to choose, or is the best one and alive; only the strategy may have to be told."""
    refresh, later = _names(roll.to_refresh(now)), roll.next_change(now)
    if lease.strategy != outcome.strategy:
        why = f"{outcome.strategy} rules"
        write = Publish(outcome.strategy)
        return Decision(reason=Reason.STRATEGY_PUBLISHED, why=why, write=write, ask=refresh, look_again=later)
    if isinstance(outcome, Foreign):
        why = f"{outcome.strategy} is not ours to follow"
        return Decision(reason=Reason.FOREIGN_STRATEGY, why=why, ask=refresh, look_again=later)
    why = f"{lease.holder} is the best and alive, but does not renew it"
    return Decision(reason=Reason.HOLDER_LATE, why=why, look_again=_earliest(now, now + ANSWER, later))


def _nobody_fresh(roll: Roll, now: datetime) -> Decision:
    if roll.stale or roll.waiting:
        return _ask(roll, now, "nobody has answered lately")
    due = {one.name: one.pinged + ASK_AGAIN for one in roll.silent if one.pinged is not None}
    return Decision(
        reason=Reason.NOBODY_ANSWERS,
        why=f"none of {len(roll.silent)} candidates answers",
        ask=tuple(name for name, moment in due.items() if moment <= now),
        look_again=_earliest(now, now + ASK_AGAIN, *due.values()),
    )


# -- parts of both -----------------------------------------------------------------------------------------------------


def _ask(roll: Roll, now: datetime, why: str) -> Decision:
    """Ask those that nobody has asked, and wait for the others."""
    reason = Reason.ASKING if roll.stale else Reason.WAITING
    return Decision(
        reason=reason, why=why, ask=_names(roll.stale), look_again=_earliest(now, now + ANSWER, roll.next_change(now))
    )


def _conflict(conflict: Conflict, ask: tuple[str, ...], later: datetime | None) -> Decision:
    wanted = ", ".join(f"{name} wants {strategy}" for strategy, name in conflict.wanted)
    why = f"candidates of the newest binary version do not agree: {wanted}"
    return Decision(reason=Reason.STRATEGY_CONFLICT, why=why, ask=ask, look_again=later)


def _names(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(one.name for one in candidates)


def _earliest(now: datetime, *moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None and moment > now), default=None)
