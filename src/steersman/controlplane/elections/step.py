"""One step of an election as a pure function: Lease, candidates and time to a decision with its reason."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.controlplane.elections.liveness import ACK_TIMEOUT, Roll, call_roll
from steersman.controlplane.elections.strategies import StrategyConflict, ThirdPartyStrategy, Winner, choose

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from steersman.controlplane.elections.objects import Candidate, Lease
    from steersman.controlplane.elections.strategies import Outcome

#: Duration of an assigned Lease, until the holder renews it itself. Upstream: ``defaultLeaseDurationSeconds``.
LEASE_DURATION_SECONDS: Final = 5
#: Ping interval of the preferred holder while a hand-over is pending.
_PREFERRED_PING_INTERVAL: Final = timedelta(seconds=10)
#: Delay of the next step after an assignment.
_RECHECK_DELAY: Final = timedelta(seconds=LEASE_DURATION_SECONDS)


class Reason(StrEnum):
    """Reason of a decision, for events and metrics."""

    NO_CANDIDATES = "NoCandidates"
    ASKING = "AskingCandidates"
    WAITING = "WaitingForAnswers"
    NO_AVAILABLE_CANDIDATES = "NoAvailableCandidates"
    STRATEGY_CONFLICT = "StrategyConflict"
    FOREIGN_STRATEGY = "ForeignStrategy"
    STRATEGY_PUBLISHED = "StrategyPublished"
    ELECTED = "LeaderElected"
    HOLDER_IS_BEST = "HolderIsBest"
    HOLDER_LATE = "HolderDoesNotRenew"
    PREFERRED = "PreferredHolderMarked"
    HAND_OVER_PENDING = "HandOverPending"
    NOT_PREFERRED = "PreferredHolderCleared"


#: Reasons that are reported as Warning events.
WARNINGS: Final = frozenset({Reason.NO_AVAILABLE_CANDIDATES, Reason.STRATEGY_CONFLICT, Reason.HOLDER_LATE})


class Create(msgspec.Struct, frozen=True):
    """Create the Lease; without a holder for a third-party strategy."""

    holder: str
    strategy: str


class Assign(msgspec.Struct, frozen=True):
    """Assign a released or expired Lease to a candidate."""

    holder: str
    strategy: str


class Prefer(msgspec.Struct, frozen=True):
    """Set the preferred holder, so that the holder yields; empty: clear it."""

    holder: str
    strategy: str


class Publish(msgspec.Struct, frozen=True):
    """Set the strategy only."""

    strategy: str


Write = Create | Assign | Prefer | Publish


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one step."""

    reason: Reason
    #: Message of the event.
    message: str
    #: Write to the Lease.
    write: Write | None = None
    #: Candidates to ping, concurrently.
    ask: tuple[str, ...] = ()
    #: Time of the next step without changes; None if only changes cause a step.
    next_check: datetime | None = None


def decide(
    lease: Lease | None, candidates: Iterable[Candidate], *, now: datetime, departed: Container[str] = ()
) -> Decision:
    """Return the next step for a Lease and its candidates. ``departed``: see ``departures``."""
    roll = call_roll(candidates, lease, now=now, departed=departed)
    if not roll.everyone:
        return Decision(reason=Reason.NO_CANDIDATES, message="no valid candidate")
    if lease is not None and lease.holder and lease.expires > now:
        return _ping_before_expiry(_decide_held(lease, roll, now), lease, roll, now)
    return _decide_free(lease, roll, now, departed)


# -- the Lease is held and valid ---------------------------------------------------------------------------------------


def _decide_held(lease: Lease, roll: Roll, now: datetime) -> Decision:
    """Decide for a valid Lease: await all acknowledgements, so that the holder yields only to the best candidate."""
    refresh = _names(roll.to_refresh(now))
    next_change = _earliest(now, lease.expires, roll.next_change(now))
    if not roll.present:
        return _clear_preferred(lease, "no candidate answers") or Decision(
            reason=Reason.HOLDER_IS_BEST,
            message=f"{lease.holder} holds it, and no candidate answers",
            next_check=next_change,
        )
    outcome = choose(roll.present, holder=lease.holder)
    if isinstance(outcome, StrategyConflict):
        return _conflict(outcome, refresh, next_change)
    if isinstance(outcome, ThirdPartyStrategy):
        message = f"{outcome.strategy} is not ours to follow"
        return Decision(reason=Reason.FOREIGN_STRATEGY, message=message, ask=refresh, next_check=next_change)
    if outcome.name == lease.holder:
        return _clear_preferred(lease, f"{lease.holder} is the best that answers") or Decision(
            reason=Reason.HOLDER_IS_BEST,
            message=f"{lease.holder} holds it and is the best",
            ask=refresh,
            next_check=next_change,
        )
    if (lease.preferred, lease.strategy) == (outcome.name, outcome.strategy):
        return _await_hand_over(lease, roll, now, next_change)
    if roll.stale or roll.waiting:
        return _await_acknowledgements(roll, now, f"{outcome.name} may be better than {lease.holder}")
    return Decision(
        reason=Reason.PREFERRED,
        message=f"{outcome.name} is better than {lease.holder}, who holds it",
        write=Prefer(outcome.name, outcome.strategy),
        next_check=next_change,
    )


def _ping_before_expiry(decision: Decision, lease: Lease, roll: Roll, now: datetime) -> Decision:
    """Ping all candidates when the holder is late, so that their acknowledgements are known when the Lease expires."""
    assert lease.duration_seconds is not None
    late = lease.expires - min(ACK_TIMEOUT, timedelta(seconds=lease.duration_seconds) / 3)
    ask = decision.ask if late > now else tuple(dict.fromkeys((*decision.ask, *_names(roll.stale))))
    next_check = _earliest(now, decision.next_check, late, lease.expires)
    return msgspec.structs.replace(decision, ask=ask, next_check=next_check)


def _await_hand_over(lease: Lease, roll: Roll, now: datetime, next_change: datetime | None) -> Decision:
    """Wait for the holder to yield; ping the preferred holder, which must be replaced if it is lost meanwhile."""
    preferred = next(candidate for candidate in roll.present if candidate.name == lease.preferred)
    assert preferred.renewed is not None
    due = preferred.renewed + _PREFERRED_PING_INTERVAL
    overdue = preferred in roll.stale and due <= now
    return Decision(
        reason=Reason.HAND_OVER_PENDING,
        message=f"{lease.holder} has been asked to leave it to {lease.preferred}",
        ask=tuple({*_names(roll.to_refresh(now)), *([preferred.name] if overdue else ())}),
        next_check=_earliest(now, next_change, due),
    )


def _clear_preferred(lease: Lease, detail: str) -> Decision | None:
    """Clear a preferred holder; None if absent."""
    if not lease.preferred:
        return None
    message = f"{lease.preferred} is not preferred any more: {detail}"
    return Decision(
        reason=Reason.NOT_PREFERRED, message=message, write=Prefer("", lease.strategy), next_check=lease.expires
    )


# -- the Lease is released or expired ----------------------------------------------------------------------------------


def _decide_free(lease: Lease | None, roll: Roll, now: datetime, departed: Container[str]) -> Decision:
    """Decide as soon as no missing acknowledgement could change the result."""
    holder = lease.holder if lease is not None else ""
    if not roll.fresh:
        return _decide_without_fresh(roll, now)
    outcome = choose(roll.fresh, holder=holder)
    others = [candidate for candidate in (*roll.stale, *roll.waiting) if candidate.name not in departed]
    missing = [candidate for candidate in others if choose((*roll.fresh, candidate), holder=holder) != outcome]
    if missing:
        return _await_acknowledgements(roll, now, f"{missing[0].name} may be the one")
    return _settle(lease, outcome, roll, now)


def _settle(lease: Lease | None, outcome: Outcome, roll: Roll, now: datetime) -> Decision:
    next_change = roll.next_change(now)
    if isinstance(outcome, StrategyConflict):
        return _conflict(outcome, _names(roll.to_refresh(now)), next_change)
    ask, soon = _names(roll.stale), now + _RECHECK_DELAY
    if lease is None:
        holder = outcome.name if isinstance(outcome, Winner) else ""
        reason = Reason.ELECTED if holder else Reason.STRATEGY_PUBLISHED
        message = f"there is no Lease; {holder} is the best" if holder else f"{outcome.strategy} is not ours to follow"
        return Decision(
            reason=reason, message=message, write=Create(holder, outcome.strategy), ask=ask, next_check=soon
        )
    if isinstance(outcome, ThirdPartyStrategy) or (outcome.name == lease.holder and not lease.preferred):
        return _keep_holder(lease, outcome, roll, now)
    if outcome.name == lease.holder:
        # A holder that yielded does not acquire the Lease by itself.
        message = f"{lease.preferred} did not come; {lease.holder} is the best that answers"
        write = Assign(outcome.name, outcome.strategy)
        return Decision(reason=Reason.ELECTED, message=message, write=write, ask=ask, next_check=soon)
    state = f"{lease.holder} did not renew it" if lease.holder else "it has no holder"
    return Decision(
        reason=Reason.ELECTED,
        message=f"{state}; {outcome.name} is the best",
        write=Assign(outcome.name, outcome.strategy),
        ask=ask,
        next_check=soon,
    )


def _keep_holder(lease: Lease, outcome: Winner | ThirdPartyStrategy, roll: Roll, now: datetime) -> Decision:
    """Keep the holder: a third-party strategy chooses it, or it is the best candidate.

    Publish the strategy if it changed.
    """
    refresh, next_change = _names(roll.to_refresh(now)), roll.next_change(now)
    if lease.strategy != outcome.strategy:
        message = f"{outcome.strategy} rules"
        write = Publish(outcome.strategy)
        return Decision(
            reason=Reason.STRATEGY_PUBLISHED, message=message, write=write, ask=refresh, next_check=next_change
        )
    if isinstance(outcome, ThirdPartyStrategy):
        message = f"{outcome.strategy} is not ours to follow"
        return Decision(reason=Reason.FOREIGN_STRATEGY, message=message, ask=refresh, next_check=next_change)
    message = f"{lease.holder} is the best and alive, but does not renew it"
    return Decision(
        reason=Reason.HOLDER_LATE, message=message, next_check=_earliest(now, now + ACK_TIMEOUT, next_change)
    )


def _decide_without_fresh(roll: Roll, now: datetime) -> Decision:
    if roll.stale or roll.waiting:
        return _await_acknowledgements(roll, now, "no candidate has answered lately")
    due = roll.due()
    return Decision(
        reason=Reason.NO_AVAILABLE_CANDIDATES,
        message=f"none of {len(roll.silent)} candidates answers",
        ask=tuple(name for name, moment in due.items() if moment <= now),
        next_check=_earliest(now, *due.values()),
    )


# -- common parts ------------------------------------------------------------------------------------------------------


def _await_acknowledgements(roll: Roll, now: datetime, message: str) -> Decision:
    """Ping stale candidates, and wait for the others."""
    reason = Reason.ASKING if roll.stale else Reason.WAITING
    return Decision(
        reason=reason,
        message=message,
        ask=_names(roll.stale),
        next_check=_earliest(now, now + ACK_TIMEOUT, roll.next_change(now)),
    )


def _conflict(conflict: StrategyConflict, ask: tuple[str, ...], next_change: datetime | None) -> Decision:
    requests = ", ".join(f"{name} wants {strategy}" for strategy, name in conflict.strategies)
    message = f"candidates of the newest binary version do not agree: {requests}"
    return Decision(reason=Reason.STRATEGY_CONFLICT, message=message, ask=ask, next_check=next_change)


def _names(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(candidate.name for candidate in candidates)


def _earliest(now: datetime, *moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None and moment > now), default=None)
