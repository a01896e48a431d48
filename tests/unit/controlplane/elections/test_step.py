"""Decisions of one step, with their reasons."""

from datetime import UTC, datetime, timedelta

import pytest

from steersman.controlplane.elections.objects import OLDEST_EMULATION_VERSION, Candidate, Lease
from steersman.controlplane.elections.step import Assign, Create, Prefer, Publish, Reason, decide
from steersman.controlplane.elections.versions import parse_version

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OURS = OLDEST_EMULATION_VERSION
FOREIGN = "example.com/mine"


def at(seconds):
    return None if seconds is None else NOW + timedelta(seconds=seconds)


def candidate(name, emulation="1.36.0", *, renewed=0.0, pinged=None, strategy=OURS, binary="1.36.0"):
    return Candidate(
        name=name,
        lease_name="lead",
        binary=parse_version(binary),
        emulation=parse_version(emulation),
        strategy=strategy,
        created=NOW - timedelta(hours=1),
        renewed=at(renewed),
        pinged=at(pinged),
    )


def lease(holder="a", *, renewed=0.0, preferred="", strategy=OURS, duration_seconds=15):
    return Lease(
        holder=holder,
        preferred=preferred,
        strategy=strategy,
        renewed=at(renewed),
        duration_seconds=duration_seconds,
    )


OLDER, SAME = candidate("older", "1.35.0"), candidate("a")
RAN_OUT = lease(renewed=-15.0)


# -- released or expired Leases ----------------------------------------------------------------------------------------


def test_decide_elects_the_only_candidate_at_once():
    decision = decide(None, [SAME], now=NOW)
    assert (decision.reason, decision.write, decision.ask) == (Reason.ELECTED, Create("a", OURS), ())


def test_decide_does_nothing_without_candidates():
    for candidates in ([], [candidate("a", renewed=None)], [candidate("a", renewed=-1801)]):
        decision = decide(lease(""), candidates, now=NOW)
        assert (decision.reason, decision.write, decision.next_check) == (Reason.NO_CANDIDATES, None, None)


@pytest.mark.parametrize("free", [RAN_OUT, lease(""), lease("gone", renewed=None)])
def test_decide_assigns_an_expired_or_released_lease_to_the_best_candidate(free):
    decision = decide(free, [SAME, OLDER], now=NOW)
    assert (decision.reason, decision.write) == (Reason.ELECTED, Assign("older", OURS))


def test_decide_keeps_a_lease_until_its_expiration():
    moment = NOW + timedelta(seconds=5)
    held = lease(duration_seconds=5, preferred="older")
    before = decide(held, [candidate("a", renewed=4), candidate("older", "1.35.0", renewed=4)], now=moment)
    assert before.reason == Reason.ELECTED
    just_before = decide(held, [candidate("older", "1.35.0", renewed=4)], now=moment - timedelta(microseconds=1))
    assert (just_before.write, just_before.next_check) == (None, moment)


def test_decide_pings_all_stale_candidates_at_once():
    stale = [candidate(name, renewed=-60) for name in "abc"]
    decision = decide(None, stale, now=NOW)
    assert (decision.reason, decision.ask) == (Reason.ASKING, ("a", "b", "c"))
    assert decision.next_check == at(5)


def test_decide_awaits_an_acknowledgement_that_could_change_the_result():
    decision = decide(None, [SAME, candidate("older", "1.35.0", renewed=-60, pinged=-1)], now=NOW)
    assert (decision.reason, decision.write, decision.next_check) == (Reason.WAITING, None, at(4))


def test_decide_does_not_await_an_acknowledgement_that_cannot_change_the_result():
    """Upstream waits for all of them, five seconds for one that is dead."""
    dead = candidate("newer", "1.37.0", renewed=-60, pinged=-1, binary="1.37.0")
    assert decide(None, [SAME, dead], now=NOW).write == Create("a", OURS)


def test_decide_awaits_a_candidate_that_could_change_the_strategy():
    newer = candidate("newer", "1.37.0", renewed=-60, pinged=-1, binary="1.37.0", strategy=FOREIGN)
    assert decide(None, [SAME, newer], now=NOW).reason == Reason.WAITING


def test_decide_skips_an_unresponsive_candidate():
    silent = candidate("silent", "1.34.0", renewed=-60, pinged=-5)
    decision = decide(None, [silent, OLDER, SAME], now=NOW)
    assert (decision.write, decision.ask) == (Create("older", OURS), ())


def test_decide_pings_all_again_later_when_none_responds():
    """Upstream ends the step with an error and never looks again."""
    silent = candidate("a", renewed=-40, pinged=-29)
    decision = decide(RAN_OUT, [silent], now=NOW)
    assert (decision.reason, decision.ask, decision.next_check) == (Reason.NO_AVAILABLE_CANDIDATES, (), at(1))
    assert decide(RAN_OUT, [silent], now=at(1)).ask == ("a",)


def test_decide_pings_unresponsive_candidates_with_backoff_until_invalid():
    """One that never answers gets a handful of pings in half an hour."""
    one, pings = candidate("a", renewed=0, pinged=1), [1]
    for second in range(7, 31 * 60):
        if decide(RAN_OUT, [one], now=at(second)).ask:
            pings.append(second)
            one = candidate("a", renewed=0, pinged=second)
    assert pings == [1, 31, 62, 124, 248, 496, 992]


def test_decide_pings_the_holder_of_an_expired_lease_first():
    decision = decide(lease(renewed=-16), [candidate("a", renewed=-2), candidate("b")], now=NOW)
    assert (decision.reason, decision.ask, decision.write) == (Reason.ASKING, ("a",), None)


def test_decide_keeps_a_responsive_best_holder_of_an_expired_lease():
    decision = decide(RAN_OUT, [SAME], now=NOW)
    assert (decision.reason, decision.write, decision.next_check) == (Reason.HOLDER_LATE, None, at(5))


def test_decide_reassigns_the_holder_when_the_preferred_holder_is_gone():
    """It was asked to yield, so it does not renew by itself.

    Without a new assignment the Lease would stay without a leader.
    """
    silent = candidate("older", "1.35.0", renewed=-60, pinged=-5)
    decision = decide(lease(renewed=-15, preferred="older"), [SAME, silent], now=NOW)
    assert decision.write == Assign("a", OURS)


def test_decide_publishes_the_strategy_on_a_classic_lease():
    assert decide(lease(renewed=-60, strategy=""), [SAME], now=NOW).write == Publish(OURS)


# -- held Leases -------------------------------------------------------------------------------------------------------


def test_decide_ignores_the_best_holder_until_it_is_late():
    decision = decide(lease(), [SAME], now=NOW)
    assert (decision.reason, decision.write, decision.next_check) == (Reason.HOLDER_IS_BEST, None, at(10))


def test_decide_pings_all_candidates_when_the_holder_is_late():
    """A holder that died is known to be dead when its Lease expires, so that no answer is waited for then."""
    candidates = [candidate("a", renewed=-60), candidate("b", renewed=-60)]
    decision = decide(lease(renewed=-10), candidates, now=NOW)
    assert (decision.ask, decision.next_check) == (("a", "b"), at(5))
    dead, alive = candidate("a", renewed=-60, pinged=0), candidate("b", renewed=1)
    assert decide(lease(renewed=-10), [dead, alive], now=at(4)).ask == ()
    assert decide(lease(renewed=-10), [dead, alive], now=at(5)).write == Assign("b", OURS)


def test_decide_treats_a_short_lease_as_late_after_two_thirds():
    decision = decide(lease(duration_seconds=3), [SAME], now=NOW)
    assert decision.next_check == at(2)


def test_decide_does_not_await_a_holder_that_released_the_lease():
    """It exits, most likely. Its candidate of client-go stays behind, and would be the best."""
    left = candidate("older", "1.35.0", renewed=-1)
    decision = decide(lease(""), [left, SAME], now=NOW, departed={"older"})
    assert (decision.write, decision.ask) == (Assign("a", OURS), ("older",))


def test_decide_elects_a_releasing_holder_that_renews_its_candidacy():
    requested = decide(lease(""), [candidate("a", renewed=-1)], now=NOW, departed={"a"})
    assert (requested.reason, requested.ask) == (Reason.ASKING, ("a",))
    assert decide(lease(""), [candidate("a", renewed=0.1)], now=at(0.1)).write == Assign("a", OURS)


def test_decide_keeps_the_holder_against_an_equal_candidate():
    assert decide(lease("b"), [SAME, candidate("b")], now=NOW).reason == Reason.HOLDER_IS_BEST


def test_decide_prefers_a_better_candidate_after_all_acknowledgements():
    requested = decide(lease(), [candidate("a", renewed=-6), OLDER], now=NOW)
    assert (requested.reason, requested.write, requested.ask) == (Reason.ASKING, None, ("a",))
    waiting = decide(lease(), [candidate("a", renewed=-6, pinged=-1), OLDER], now=NOW)
    assert (waiting.reason, waiting.write, waiting.next_check) == (Reason.WAITING, None, at(4))
    assert decide(lease(), [SAME, OLDER], now=NOW).write == Prefer("older", OURS)


def test_decide_replaces_a_holder_without_candidate():
    decision = decide(lease("someone", strategy=""), [SAME], now=NOW)
    assert (decision.reason, decision.write) == (Reason.PREFERRED, Prefer("a", OURS))


def test_decide_updates_the_preferred_holder_to_a_better_candidate():
    oldest = candidate("oldest", "1.34.0")
    assert decide(lease(preferred="older"), [SAME, OLDER, oldest], now=NOW).write == Prefer("oldest", OURS)


def test_decide_pings_the_preferred_holder_periodically():
    pending = decide(lease(preferred="older"), [SAME, candidate("older", "1.35.0", renewed=-4)], now=NOW)
    assert (pending.reason, pending.ask, pending.next_check) == (Reason.HAND_OVER_PENDING, (), at(6))
    late = candidate("older", "1.35.0", renewed=-10)
    assert decide(lease(preferred="older"), [SAME, late], now=NOW).ask == ("older",)


@pytest.mark.parametrize("silent", [[], [candidate("older", "1.35.0", renewed=-60, pinged=-5)]])
def test_decide_clears_a_preferred_holder_that_is_gone(silent):
    """Upstream keeps it: the holder yields to a missing candidate, and the Lease stays without a holder."""
    decision = decide(lease(preferred="older"), [SAME, *silent], now=NOW)
    assert (decision.reason, decision.write) == (Reason.NOT_PREFERRED, Prefer("", OURS))


def test_decide_clears_the_preferred_holder_when_no_candidate_responds():
    silent = candidate("older", "1.35.0", renewed=-60, pinged=-5)
    assert decide(lease("x", preferred="older"), [silent], now=NOW).write == Prefer("", OURS)
    assert decide(lease("x"), [silent], now=NOW).write is None


def test_decide_pings_candidates_before_they_become_invalid():
    old = candidate("newer", "1.37.0", renewed=-15 * 60)
    decision = decide(lease(), [SAME, old], now=NOW)
    assert (decision.reason, decision.ask) == (Reason.HOLDER_IS_BEST, ("newer",))


# -- strategies --------------------------------------------------------------------------------------------------------


def test_decide_creates_a_lease_without_holder_for_a_third_party_strategy():
    decision = decide(None, [candidate("a", strategy=FOREIGN)], now=NOW)
    assert (decision.reason, decision.write) == (Reason.STRATEGY_PUBLISHED, Create("", FOREIGN))


@pytest.mark.parametrize("holder", ["", "a"])
def test_decide_only_publishes_a_third_party_strategy(holder):
    """Upstream stumbles over the Lease that has neither a holder nor, any more, time left."""
    candidates = [candidate("a", strategy=FOREIGN)]
    decision = decide(lease(holder, renewed=-60), candidates, now=NOW)
    assert decision.write == Publish(FOREIGN)
    done = decide(lease(holder, renewed=-60, strategy=FOREIGN), candidates, now=NOW)
    assert (done.reason, done.write) == (Reason.FOREIGN_STRATEGY, None)


def test_decide_does_not_change_a_held_lease_for_a_third_party_strategy():
    decision = decide(lease(), [candidate("a", strategy=FOREIGN)], now=NOW)
    assert (decision.reason, decision.write) == (Reason.FOREIGN_STRATEGY, None)


def test_decide_assigns_a_free_lease_after_a_third_party_strategy():
    assert decide(lease("", strategy=FOREIGN), [SAME], now=NOW).write == Assign("a", OURS)


@pytest.mark.parametrize("current", [None, RAN_OUT, lease()])
def test_decide_reports_a_strategy_conflict_without_a_write(current):
    decision = decide(current, [SAME, candidate("b", strategy=FOREIGN)], now=NOW)
    assert (decision.reason, decision.write) == (Reason.STRATEGY_CONFLICT, None)
    assert decision.message == (
        "candidates of the newest binary version do not agree: a wants OldestEmulationVersion, b wants example.com/mine"
    )
